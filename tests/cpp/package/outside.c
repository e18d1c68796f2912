#include <spdl.h>

#include <stdio.h>
#include <string.h>

/* The library that was linked is the one whose header was compiled. */
int main(void) {
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", SPDL_VERSION_MAJOR, SPDL_VERSION_MINOR, SPDL_VERSION_PATCH);
    return strcmp(spdl_version(), want) == 0 ? 0 : 1;
}
