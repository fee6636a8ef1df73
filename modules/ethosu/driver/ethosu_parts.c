// SPDX-License-Identifier: MIT
/**
 * The products that this image can drive: those whose device_*.c is linked.
 * The references are weak, so that leaving a file out needs no other change.
 */
#include "ethosu_device.h"

__attribute__((weak)) extern const struct ethosux_part ethosux_part_u55;
__attribute__((weak)) extern const struct ethosux_part ethosux_part_u65;
__attribute__((weak)) extern const struct ethosux_part ethosux_part_u85;

static const struct ethosux_part *const parts[] = {
    &ethosux_part_u55,
    &ethosux_part_u65,
    &ethosux_part_u85,
};

const struct ethosux_part *ethosux_part_find(uint32_t config)
{
    for (unsigned i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const struct ethosux_part *part = parts[i];
        if (part != NULL && part->product == NPU_CONFIG_PRODUCT(config) &&
            NPU_CONFIG_MACS(config) >= part->macs_log2_first &&
            NPU_CONFIG_MACS(config) <= part->macs_log2_last) {
            return part;
        }
    }
    return NULL;
}
