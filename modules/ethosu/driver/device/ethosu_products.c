// SPDX-License-Identifier: MIT
/**
 * The products that this build supports. No other file refers to a product's registers, and only
 * ethosu_verify_products.c to its commands, so the linker includes only those that ethosu_build.h
 * selects, even from a static archive.
 */
#include "driver/device/ethosu_products.h"
#include "driver/base/ethosu_count.h"

#include "driver/base/ethosu_build.h"
#include "driver/device/device.h"

#define ETHOSU_EXT_PRODUCT(family, number, macs_log2, cores) \
    {number, macs_log2, cores, ETHOSU_##family ? &ethosu_ext_part_##family : NULL},
static const struct ethosu_ext_product products[] = {
#include "driver/device/ethosu_products.def"
};
#undef ETHOSU_EXT_PRODUCT

const struct ethosu_ext_product *ethosu_ext_product_find(uint32_t config)
{
    for (unsigned i = 0; i < COUNT(products); i++) {
        if (products[i].number == NPU_CONFIG_PRODUCT(config) &&
            products[i].macs_log2 == NPU_CONFIG_MACS(config)) {
            return &products[i];
        }
    }
    return NULL;
}
