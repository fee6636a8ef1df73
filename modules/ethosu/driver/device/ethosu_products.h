// SPDX-License-Identifier: MIT
/** The table of products that this driver supports, and this build's support for each. */
#ifndef ETHOSU_PRODUCTS_H
#define ETHOSU_PRODUCTS_H

#include <stdint.h>

struct ethosu_ext_part;

/** A row of ethosu_products.def. */
struct ethosu_ext_product {
    uint8_t number;    /**< CONFIG.product */
    uint8_t macs_log2; /**< CONFIG.macs_per_cc */
    uint8_t cores;
    const struct ethosu_ext_part *part; /**< NULL if this build does not support it */
};

/** Find the product of a CONFIG word; NULL if not found. */
const struct ethosu_ext_product *ethosu_ext_product_find(uint32_t config);

#endif
