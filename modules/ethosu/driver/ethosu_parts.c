// SPDX-License-Identifier: MIT
/**
 * The products that this image can drive: those whose device_*.c is linked.
 * The references are weak, so that leaving a file out needs no other change.
 */
#include "ethosu_device.h"

__attribute__((weak)) extern const struct ethosu_ext_part ethosu_ext_part_u55;
__attribute__((weak)) extern const struct ethosu_ext_part ethosu_ext_part_u65;
__attribute__((weak)) extern const struct ethosu_ext_part ethosu_ext_part_u85;

static const struct ethosu_ext_part *const parts[] = {
    &ethosu_ext_part_u55,
    &ethosu_ext_part_u65,
    &ethosu_ext_part_u85,
};

const struct ethosu_ext_part *ethosu_ext_part_find(uint32_t config)
{
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct ethosu_ext_part *part = parts[i];
        if (part != NULL && part->product == NPU_CONFIG_PRODUCT(config) &&
            NPU_CONFIG_MACS(config) >= part->macs_log2_first &&
            NPU_CONFIG_MACS(config) <= part->macs_log2_last) {
            return part;
        }
    }
    return NULL;
}
