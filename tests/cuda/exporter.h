/* exporter.h - what cuda-exporter says of its pool. */
#ifndef EXPORTER_H
#define EXPORTER_H

#include "../../capi/cuda/driver.h"

#define EXPORTED_SLOTS 8

typedef struct exported_pool {
    cu_uuid uuid;
    cu_handle memory, events[EXPORTED_SLOTS];
} exported_pool;

#endif
