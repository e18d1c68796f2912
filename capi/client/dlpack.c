/* dlpack.c - the one thing of DLPack that must be machine code. */
#include "internal.h"

void spdl_dlpack_deleter(void *managed) { store_release64((uint64_t *)managed, UINT64_MAX); }
