// SPDX-License-Identifier: MIT
/** Defaults of the hooks that do not depend on threads. */
#include "ethosu_ext.h"

__attribute__((weak)) void ethosu_flush_dcache(const uint64_t *base_addr,
                                               const size_t *base_addr_size, int num_base_addr)
{
    (void)base_addr;
    (void)base_addr_size;
    (void)num_base_addr;
}

__attribute__((weak)) void ethosu_invalidate_dcache(const uint64_t *base_addr,
                                                    const size_t *base_addr_size, int num_base_addr)
{
    (void)base_addr;
    (void)base_addr_size;
    (void)num_base_addr;
}

__attribute__((weak)) void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
}

__attribute__((weak)) void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
}

__attribute__((weak)) uint64_t ethosu_address_remap(uint64_t address, int index)
{
    (void)index;
    return address;
}

__attribute__((weak)) unsigned int ethosu_config_select(uint64_t address, int index)
{
    (void)address;
    (void)index;
    return ETHOSU_EXT_CONFIG_DEFAULT;
}
