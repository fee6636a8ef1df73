// SPDX-License-Identifier: MIT
/**
 * Product descriptions: everything that differs between accelerator configs.
 *
 * A further family (Ethos-U85) is a new npu_family bit, its rows in
 * product.c, its lines in commands.def and registers.c, and its weight order.
 */
#ifndef NPU_PRODUCT_H
#define NPU_PRODUCT_H

#include <stdint.h>

/** Families, usable as a set in the command and register tables. */
enum npu_family {
    NPU_U55 = 1u << 0,
    NPU_U65 = 1u << 1,
    NPU_ANY = NPU_U55 | NPU_U65,
};

struct npu_product {
    const char *name; /**< Vela's --accelerator-config */
    enum npu_family family;
    uint32_t id;       /**< ID register */
    uint32_t config;   /**< CONFIG register */
    uint32_t part_id0; /**< PID0 register */
    uint8_t cores;
    uint8_t address_bits;
    uint8_t dma_outstanding; /**< DMA operations that may be in flight */
    uint8_t axi_bytes;       /**< bytes per AXI beat */
    uint32_t shram_bytes;    /**< of one core; its last 2 KB hold the lookup tables */
    uint16_t macs_per_cycle; /**< all cores together, 8-bit */
    /** OFM micro block: the unit in which a core computes. */
    uint8_t ublock_height, ublock_width, ublock_depth;
};

/** @return the description, or a null pointer when the name is unknown */
const struct npu_product *npu_product_find(const char *name);

#endif
