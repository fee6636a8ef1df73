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

/** Kinds of operations that the output unit computes at different speeds. */
enum npu_output_class {
    NPU_OUTPUT_BINARY_32,
    NPU_OUTPUT_UNARY_32,
    NPU_OUTPUT_MUL_TO_32,
    NPU_OUTPUT_MUL_OR_ACC40,
    NPU_OUTPUT_SIMPLE_ADD,
    NPU_OUTPUT_ADD,
    NPU_OUTPUT_MAX_POOL,
    NPU_OUTPUT_OTHER,
    NPU_OUTPUT_CLASSES
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
    /** Sixteenths of a cycle that an output element takes, by enum npu_output_class. */
    uint8_t output_sixteenths[NPU_OUTPUT_CLASSES];
    uint8_t table_sixteenths; /**< at least, with a table, tanh or sigmoid */
};

/** @return the description, or a null pointer when the name is unknown */
const struct npu_product *npu_product_find(const char *name);

#endif
