// SPDX-License-Identifier: MIT
/**
 * Product descriptions: everything that differs between accelerator configs.
 *
 * Products are in products.def, properties shared by a family in struct npu_family, commands in
 * commands.def, field positions in fields.def, registers in registers.c.
 */
#ifndef NPU_PRODUCT_H
#define NPU_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/rounding.h"

enum npu_family_index { NPU_U55, NPU_U65, NPU_U85, NPU_FAMILIES };

/** Kinds of operations, by speed of the output unit. */
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

enum {
    NPU_MICROBLOCKS = 6,    /**< values of ACC_FORMAT.microblock */
    NPU_ROUNDING_MODES = 8, /**< values of a round_mode field */
};

/** OFM micro block: the unit in which the MAC array computes. */
struct npu_microblock {
    uint8_t height, width;
    uint8_t depth; /**< of all cores together; 0 if the config lacks it */
};

/** A record of the scale stream: bias, multiplier after it, shift. */
struct npu_scale_layout {
    uint8_t bias_bits, multiplier_bits, shift_byte;
};

struct npu_order;
struct npu_weights_shape;

/** Properties shared by all configs of a family. */
struct npu_family {
    enum npu_family_index index;
    uint32_t id;       /**< ID register */
    uint32_t part_id0; /**< PID0 register */
    uint32_t window_bytes;
    uint8_t address_bits;
    uint8_t axi_bytes; /**< bytes per AXI beat */
    uint8_t pmu_counters;
    bool width_events;         /**< the PMU distinguishes 8, 16 and 32 bits */
    uint8_t pool_modes;        /**< values of NPU_OP_POOL's parameter */
    uint8_t elementwise_modes; /**< values of NPU_OP_ELEMENTWISE's parameter */
    bool pool_scales;          /**< POOL takes scales per channel; see decode_scale() */
    bool operand_scales;       /**< each operand of ELEMENTWISE has a scale register */
    bool narrow_shifts;        /**< SHR and SHL take 8 and 16 bits, too */
    bool aligned_dma;          /**< addresses and length of a copy are multiples of 16 */
    bool memory_attributes; /**< MEM_ATTR selects the AXI port; else the number of the limit does */
    bool read_only_m1;      /**< AXI port M1 is read-only */
    uint16_t parse_event;   /**< PMU event for activity of the weight decoder's parser */
    uint8_t kernel_queue;   /**< maximum number of running operations with a kernel */
    uint8_t copy_queue;     /**< maximum number of running copies */
    uint8_t step_inputs;    /**< inputs of a depth-first step of the MAC array */
    uint8_t pool_cycles;    /**< cycles of a pool per tap, micro block and byte of an element */
    uint8_t element_sizes;  /**< of feature maps: 8, 16, 32, 64 bits */
    bool weight_faults;     /**< STATUS has wd_fault; else malformed weights are a parse error */
    bool all_cores;         /**< cores always work together and share one scale stream */
    /** enum npu_rounding by value of a round_mode field of input and OFM scales. */
    int8_t input_rounding[NPU_ROUNDING_MODES], output_rounding[NPU_ROUNDING_MODES];
    uint8_t accumulator_bits[4];       /**< by ACC_FORMAT.acc_format; 0 if not supported */
    struct npu_scale_layout scales[4]; /**< indexed likewise */
    /** Order of the weights of an operation. */
    void (*order)(const struct npu_weights_shape *shape, struct npu_order *order);
};

struct npu_product {
    const char *name; /**< Vela's --accelerator-config */
    const struct npu_family *family;
    uint32_t config; /**< CONFIG register */
    uint8_t cores;
    uint32_t table_address;  /**< of the lookup tables, in the NPU's internal memory */
    uint16_t macs_per_cycle; /**< all cores together, 8-bit */
    struct npu_microblock microblocks[NPU_MICROBLOCKS];
    uint8_t axis[2]; /**< parallel AXI interfaces behind each port */
    /** 32nds of a cycle per output element, by enum npu_output_class. */
    uint8_t output_32nds[NPU_OUTPUT_CLASSES];
    uint8_t table_32nds; /**< minimum with a table, tanh or sigmoid */
};

/** @return the description, or NULL if the name is unknown */
const struct npu_product *npu_product_find(const char *name);

#endif
