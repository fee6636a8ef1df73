// SPDX-License-Identifier: MIT
/** Product descriptions. Values: Vela's accelerator table and Arm's interface headers. */
#include "product.h"

#include <string.h>

#include "npu_model.h"

#define CONFIG_WORD(product, shram_kb, macs_log2) \
    ((uint32_t)(product) << 28 | (uint32_t)(shram_kb) << 8 | (uint32_t)(macs_log2))

/* Output speeds: Vela's performance estimation, in sixteenths of a cycle. */
#define SPEED_32 {32, 48, 48, 48, 64, 96, 16, 32}
#define SPEED_64 {16, 24, 24, 24, 32, 48, 8, 16}
#define SPEED_128 {12, 20, 12, 12, 16, 24, 4, 8}
#define SPEED_256 {10, 18, 8, 6, 8, 12, 2, 4}
#define SPEED_512 {5, 9, 4, 3, 4, 6, 1, 2}

/** U55: r2p0, architecture 1.1.0. U65: architecture 1.0.6. */
#define U55(macs, macs_log2, shram_kb, height, width, depth) \
    {.name = "ethos-u55-" #macs,                             \
     .family = NPU_U55,                                      \
     .id = 0x10104201u,                                      \
     .config = CONFIG_WORD(0, shram_kb, macs_log2),          \
     .part_id0 = 0x80,                                       \
     .cores = 1,                                             \
     .address_bits = 32,                                     \
     .dma_outstanding = 1,                                   \
     .axi_bytes = 8,                                         \
     .shram_bytes = (shram_kb) * 1024u,                      \
     .macs_per_cycle = (macs),                               \
     .ublock_height = (height),                              \
     .ublock_width = (width),                                \
     .ublock_depth = (depth),                                \
     .output_sixteenths = SPEED_##macs,                      \
     .table_sixteenths = 16}
#define U65(macs, macs_log2, core_count)                     \
    {.name = "ethos-u65-" #macs,                             \
     .family = NPU_U65,                                      \
     .id = 0x10066001u,                                      \
     .config = CONFIG_WORD(1, 48 * (core_count), macs_log2), \
     .part_id0 = 0x81,                                       \
     .cores = (core_count),                                  \
     .address_bits = 40,                                     \
     .dma_outstanding = 2,                                   \
     .axi_bytes = 16,                                        \
     .shram_bytes = 48u * 1024u,                             \
     .macs_per_cycle = (macs),                               \
     .ublock_height = 2,                                     \
     .ublock_width = 2,                                      \
     .ublock_depth = 8,                                      \
     .output_sixteenths = SPEED_##macs,                      \
     .table_sixteenths = 16 / (core_count)}

static const struct npu_product products[] = {
    U55(32, 5, 16, 1, 1, 4),  U55(64, 6, 16, 1, 1, 8), U55(128, 7, 24, 1, 2, 8),
    U55(256, 8, 48, 2, 2, 8), U65(256, 8, 1),          U65(512, 9, 2),
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
        "ethos-u55-32",  "ethos-u55-64", "ethos-u55-128", "ethos-u55-256", "ethos-u65-256",
        "ethos-u65-512", NULL,
    };
    _Static_assert(sizeof names / sizeof names[0] == PRODUCT_COUNT + 1, "one name per product");
    return names;
}
