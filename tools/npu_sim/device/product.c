// SPDX-License-Identifier: MIT
/** Full descriptions of the products in products.def, and of the families. */
#include "core/product.h"

#include <string.h>

#include "core/pmu.h"
#include "npu_sim.h"
#include "weights/weight_order.h"

enum {
    SHRAM_TABLES = 2048, /**< bytes of lookup tables at the end of the SHRAM of U55 and U65 */
    NONE = -1,
};

/** Properties common to U55 and U65. */
#define U55_U65                                                                                  \
    .window_bytes = NPU_REGISTERS_SIZE, .pmu_counters = 4, .width_events = true,                 \
    .parse_event = NPU_EVENT_WD_PARSE_ACTIVE, .step_inputs = 32, .kernel_queue = 2,              \
    .pool_cycles = 1, .element_sizes = 3, .weight_faults = true,                                 \
    .input_rounding =                                                                            \
        {NPU_ROUND_DOUBLE, NPU_ROUND_TRUNCATE, NPU_ROUND_NATURAL, NONE, NONE, NONE, NONE, NONE}, \
    .output_rounding =                                                                           \
        {NPU_ROUND_DOUBLE, NPU_ROUND_TRUNCATE, NPU_ROUND_NATURAL, NONE, NONE, NONE, NONE, NONE}, \
    .accumulator_bits = {32, 40}, .scales = {{40, 32, 9}, {40, 32, 9}}, .order = npu_order_u55,  \
    .pool_modes = 3, .elementwise_modes = 10

/** r2p0, architecture 1.1.0. */
static const struct npu_family u55 = {
    .index = NPU_U55,
    .id = 0x10104201u,
    .part_id0 = 0x80,
    .address_bits = 32,
    .axi_bytes = 8,
    .read_only_m1 = true,
    .aligned_dma = true,
    .copy_queue = 1,
    U55_U65,
};

/** Architecture 1.0.6. */
static const struct npu_family u65 = {
    .index = NPU_U65,
    .id = 0x10066001u,
    .part_id0 = 0x81,
    .address_bits = 40,
    .axi_bytes = 16,
    .copy_queue = 2,
    U55_U65,
};

/** Architecture 2.0.0. */
static const struct npu_family u85 = {
    .index = NPU_U85,
    .id = 0x20007001u,
    .part_id0 = 0x82,
    .window_bytes = NPU_REGISTERS_MAX,
    .address_bits = 40,
    .axi_bytes = 16,
    .pmu_counters = 8,
    .memory_attributes = true,
    .pool_modes = 8,
    .elementwise_modes = 64,
    .pool_scales = true,
    .operand_scales = true,
    .narrow_shifts = true,
    .parse_event = NPU_EVENT_WD_PARSE_ACTIVE_SC0,
    .kernel_queue = 2,
    .copy_queue = 4,
    .step_inputs = 64,
    .pool_cycles = 4,
    .element_sizes = 4,
    .all_cores = true,
    .input_rounding = {NPU_ROUND_DOUBLE, NPU_ROUND_NATURAL, NONE, NONE, NONE, NONE, NONE, NONE},
    .output_rounding = {NPU_ROUND_DOUBLE, NPU_ROUND_NATURAL, NPU_ROUND_DOUBLE_ASYMMETRIC,
                        NPU_ROUND_AWAY, NPU_ROUND_TRUNCATE, NPU_ROUND_DOWN, NONE, NONE},
    .accumulator_bits = {32, 48},
    .scales = {{32, 31, 8}, {48, 15, 8}},
    .order = npu_order_u85,
};

#define CONFIG_WORD(product, shram_kb, macs_log2) \
    ((uint32_t)(product) << 28 | (uint32_t)(shram_kb) << 8 | (uint32_t)(macs_log2))

/* Output speeds: Vela's performance estimation, in 32nds of a cycle. */
#define SPEED_32 {64, 96, 96, 96, 128, 192, 32, 64}
#define SPEED_64 {32, 48, 48, 48, 64, 96, 16, 32}
#define SPEED_128 {24, 40, 24, 24, 32, 48, 8, 16}
#define SPEED_256 {20, 36, 16, 12, 16, 24, 4, 8}
#define SPEED_512 {10, 18, 8, 6, 8, 12, 2, 4}

#define U55(macs, macs_log2, shram_kb, ...)              \
    {.name = "ethos-u55-" #macs,                         \
     .family = &u55,                                     \
     .config = CONFIG_WORD(0, shram_kb, macs_log2),      \
     .cores = 1,                                         \
     .table_address = (shram_kb) * 1024u - SHRAM_TABLES, \
     .macs_per_cycle = (macs),                           \
     .microblocks = {__VA_ARGS__},                       \
     .axis = {1, 1},                                     \
     .output_32nds = SPEED_##macs,                       \
     .table_32nds = 32},
#define U65(macs, macs_log2, core_count)                     \
    {.name = "ethos-u65-" #macs,                             \
     .family = &u65,                                         \
     .config = CONFIG_WORD(1, 48 * (core_count), macs_log2), \
     .cores = (core_count),                                  \
     .table_address = 48u * 1024u - SHRAM_TABLES,            \
     .macs_per_cycle = (macs),                               \
     .microblocks = {{2, 2, 8 * (core_count)}},              \
     .axis = {1, 1},                                         \
     .output_32nds = SPEED_##macs,                           \
     .table_32nds = 32 / (core_count)},
#define U85(macs, config_word, core_count, sram, ext, binary, wide, half, fast, ...) \
    {.name = "ethos-u85-" #macs,                                                     \
     .family = &u85,                                                                 \
     .config = (config_word),                                                        \
     .cores = (core_count),                                                          \
     .table_address = 0,                                                             \
     .macs_per_cycle = (macs),                                                       \
     .microblocks = {__VA_ARGS__},                                                   \
     .axis = {sram, ext},                                                            \
     .output_32nds = {binary, wide, wide, half, fast, fast, fast, fast},             \
     .table_32nds = (fast)},

/* Micro blocks of U85, indexed by ACC_FORMAT.microblock. */
#define U1X1(depth) [0] = {1, 1, depth}
#define U1X2(depth) [1] = {1, 2, depth}
#define U1X4(depth) [2] = {1, 4, depth}
#define U2X2(depth) [3] = {2, 2, depth}
#define U2X4(depth) [4] = {2, 4, depth}
#define U4X4(depth) [5] = {4, 4, depth}

static const struct npu_product products[] = {
#include "device/products.def"
};

enum { PRODUCT_COUNT = sizeof products / sizeof products[0] };

const struct npu_product *npu_product_find(const char *name)
{
    for (size_t i = 0; i < PRODUCT_COUNT; i++) {
        if (name != NULL && strcmp(name, products[i].name) == 0) {
            return &products[i];
        }
    }
    return NULL;
}

const char *const *npu_configs(void)
{
    static const char *const names[] = {
#define U55(macs, ...) "ethos-u55-" #macs,
#define U65(macs, ...) "ethos-u65-" #macs,
#define U85(macs, ...) "ethos-u85-" #macs,
#include "device/products.def"
        NULL,
    };
    return names;
}
