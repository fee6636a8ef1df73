// SPDX-License-Identifier: MIT
/** load_npu.h without an NPU; AddressSanitizer guards the memory. */
#include "load_npu.h"

#include <stdlib.h>

void *load_npu_memory(size_t size)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 32, size == 0 ? 1 : size) != 0) {
        abort();
    }
    return memory;
}

void load_npu_free(void *memory)
{
    free(memory);
}

struct ethosu_driver *load_npu_driver(const char *config)
{
    (void)config;
    return NULL;
}

void load_npu_stop(struct ethosu_driver *driver)
{
    (void)driver;
}

void load_npu_check(void)
{
}
