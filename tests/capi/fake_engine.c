/* fake_engine.c - a library that calls itself an engine, of another release. */
#include "../../capi/engine/table.h"

#include <stddef.h>
#include <stdlib.h>

const spdl_engine_table *spdl_engine_table_of(uint32_t table_version) {
    static const spdl_engine_table other = {.table_version = SPDL_ENGINE_TABLE_VERSION, .version = "9.9.9"};
    return getenv("FAKE_TABLE") && table_version == SPDL_ENGINE_TABLE_VERSION ? &other : NULL;
}
