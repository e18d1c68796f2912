# The version is the installed spdl.h's. A request is met by the same major version, and before 1.0 by the same minor,
# if it is not newer.

foreach(_spdl_dir "${CMAKE_CURRENT_LIST_DIR}/../../../include" "${CMAKE_CURRENT_LIST_DIR}/../../../../include")
    if(EXISTS "${_spdl_dir}/spdl.h")
        file(STRINGS "${_spdl_dir}/spdl.h" _spdl_lines REGEX "^#define SPDL_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
        string(REGEX MATCHALL "[0-9]+" _spdl_numbers "${_spdl_lines}")
        list(JOIN _spdl_numbers "." PACKAGE_VERSION)
        break()
    endif()
endforeach()

set(PACKAGE_VERSION_COMPATIBLE FALSE)
if(PACKAGE_VERSION AND NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
    string(REGEX MATCH "^0\\.[0-9]+|^[0-9]+" _spdl_series "${PACKAGE_VERSION}")
    if("${PACKAGE_FIND_VERSION}." MATCHES "^${_spdl_series}\\." OR PACKAGE_FIND_VERSION STREQUAL "0")
        set(PACKAGE_VERSION_COMPATIBLE TRUE)
    endif()
endif()
if(PACKAGE_VERSION AND PACKAGE_FIND_VERSION STREQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
endif()
