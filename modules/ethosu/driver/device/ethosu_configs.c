// SPDX-License-Identifier: MIT
/** Families and default configurations for ethosu_init_ex(). */
#include "driver/device/device.h"

#define DESC(family, name_)                                         \
    const struct ethosu_device_desc ethosu_device_desc_##family = { \
        .name = "ethos-" #family, .product = ETHOSU_PRODUCT_##name_}

DESC(u55, U55);
DESC(u65, U65);
DESC(u85, U85);

/* The same values as the tables of device_*.c. */

#define AXI_LIMIT(reads, writes) \
    {.max_outstanding_read_m1 = (reads) - 1, .max_outstanding_write_m1 = (writes) - 1}

static struct u55_config_t u55 = {
    .qconfig = {.word = 2},
    .regioncfg = {.word = 0x5553},
    .axi_limit0 = {AXI_LIMIT(32, 16)},
    .axi_limit1 = {AXI_LIMIT(32, 16)},
    .axi_limit2 = {AXI_LIMIT(32, 16)},
    .axi_limit3 = {AXI_LIMIT(32, 16)},
};

static struct u65_config_t u65 = {
    .qconfig = {.word = 2},
    .regioncfg = {.word = 0x555B},
    .axi_limit0 = {AXI_LIMIT(64, 32)},
    .axi_limit1 = {AXI_LIMIT(64, 32)},
    .axi_limit2 = {AXI_LIMIT(64, 32)},
    .axi_limit3 = {AXI_LIMIT(64, 32)},
};

#define AXI_PORT(reads, writes)                \
    {.max_outstanding_read_m1 = (reads) - 1,   \
     .max_outstanding_write_m1 = (writes) - 1, \
     .max_beats = 2}

static struct u85_config_t u85 = {
    .mem_attr = {{{.axi_port = 0}}, {{.axi_port = 0}}, {{.axi_port = 1}}, {{.axi_port = 1}}},
    .qconfig = {.word = 2},
    .regioncfg = {.word = 0x5553},
    .axi_sram = {AXI_PORT(12, 16)},
    .axi_ext = {AXI_PORT(64, 32)},
};

struct ethosu_device_config ethosu_device_config_u55 = {&u55};
struct ethosu_device_config ethosu_device_config_u65 = {&u65};
struct ethosu_device_config ethosu_device_config_u85 = {&u85};
