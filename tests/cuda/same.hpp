// same.hpp - whether a call is declared here as it is there: as many parameters, of the same sizes and kinds.
#pragma once

#include <type_traits>

template <class T>
constexpr int kind = std::is_pointer_v<T>                         ? 1
                     : std::is_integral_v<T> || std::is_enum_v<T> ? 2
                                                                  : 3;

template <class There, class... Theirs, class Here, class... Ours>
constexpr bool same(There (*)(Theirs...), Here (*)(Ours...)) {
    if constexpr (sizeof...(Theirs) != sizeof...(Ours))
        return false;
    else
        return ((sizeof(Theirs) == sizeof(Ours) && kind<Theirs> == kind<Ours>)&&...);
}

#define SAME(here, there) static_assert(int(ours::here) == int(there), #here)
