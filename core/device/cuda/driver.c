/* driver.c - the driver's calls, the same source that libspdl has. */
#define _GNU_SOURCE
#include "../../../capi/cuda/driver.c" // NOLINT
