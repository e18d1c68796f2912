# find_package(spdl): spdl::spdl is libspdl and spdl.h; spdl::cpp adds the C++17 headers to it.
#
# Works from wherever the files lie: this one is LIBDIR/cmake/spdl/spdlConfig.cmake, the library is in LIBDIR, the
# headers in include/ beside or above it. Set spdl_USE_STATIC before find_package to link libspdl.a.

get_filename_component(_spdl_libdir "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
set(_spdl_name spdl)
if(spdl_USE_STATIC)
    set(_spdl_name libspdl.a)
endif()
find_library(_spdl_library NAMES ${_spdl_name} PATHS "${_spdl_libdir}" NO_DEFAULT_PATH NO_CACHE)
find_path(_spdl_include spdl.h PATHS "${_spdl_libdir}/../include" "${_spdl_libdir}/../../include"
          NO_DEFAULT_PATH NO_CACHE)

if(NOT _spdl_library OR NOT _spdl_include)
    set(spdl_FOUND FALSE)
    set(spdl_NOT_FOUND_MESSAGE
        "spdl: package in ${CMAKE_CURRENT_LIST_DIR}: ${_spdl_name} or spdl.h is not where `make install` puts it (library: ${_spdl_library}; header: ${_spdl_include}); install again")
    return()
endif()

if(NOT TARGET spdl::spdl)
    add_library(spdl::spdl UNKNOWN IMPORTED)
    set_target_properties(spdl::spdl PROPERTIES
        IMPORTED_LOCATION "${_spdl_library}"
        INTERFACE_INCLUDE_DIRECTORIES "${_spdl_include}")
    if(spdl_USE_STATIC)
        set_property(TARGET spdl::spdl PROPERTY INTERFACE_LINK_LIBRARIES ${CMAKE_DL_LIBS})
    endif()
endif()
if(NOT TARGET spdl::cpp)
    add_library(spdl::cpp INTERFACE IMPORTED)
    set_target_properties(spdl::cpp PROPERTIES
        INTERFACE_LINK_LIBRARIES spdl::spdl
        INTERFACE_COMPILE_FEATURES cxx_std_17)
endif()

unset(_spdl_libdir)
unset(_spdl_name)
unset(_spdl_library)
unset(_spdl_include)
