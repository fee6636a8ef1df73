// SPDX-License-Identifier: MIT
/** What is particular to Ethos-U55 and Ethos-U65. */
#include "device.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/** AXI_LIMIT: outstanding reads and writes; bursts of 64 bytes, device memory. */
#define AXI_LIMIT(reads, writes) (((reads) - 1u) << 16 | ((writes) - 1u) << 24)

#define FAULT_BITS                                                                              \
    (ETHOSU_EXT_STATUS_BUS_ERROR | ETHOSU_EXT_STATUS_PARSE_ERROR | ETHOSU_EXT_STATUS_WATCHDOG | \
     ETHOSU_EXT_STATUS_ECC)

/** product, macs_per_cc */
#define CONFIG_MASK 0xF000000Fu

#define SETTING(register, member) {(register), 0, offsetof(struct ethosu_npu_settings, member)}

static const struct ethosu_ext_setting settings[] = {
    SETTING(NPU_AXI_LIMIT0 + 0x0, axi_limit[0]),
    SETTING(NPU_AXI_LIMIT0 + 0x4, axi_limit[1]),
    SETTING(NPU_AXI_LIMIT0 + 0x8, axi_limit[2]),
    SETTING(NPU_AXI_LIMIT0 + 0xC, axi_limit[3]),
};

static const struct ethosu_npu_settings u55_defaults = {
    .axi_limit = {AXI_LIMIT(32, 16), AXI_LIMIT(32, 16), AXI_LIMIT(32, 16), AXI_LIMIT(32, 16)},
};

static const struct ethosu_npu_settings u65_defaults = {
    .axi_limit = {AXI_LIMIT(64, 32), AXI_LIMIT(64, 32), AXI_LIMIT(64, 32), AXI_LIMIT(64, 32)},
};

static const struct ethosu_ext_event_range event_ranges[] = {
    {0x00, 0x00}, {0x11, 0x11},   {0x20, 0x23},   {0x30, 0x3A},   {0x40, 0x48},
    {0x50, 0x5B}, {0x80, 0x89},   {0x8C, 0x8C},   {0x8E, 0x8F},   {0xA0, 0xA6},
    {0xB0, 0xB1}, {0x180, 0x189}, {0x18C, 0x18C}, {0x18E, 0x18F}, {0x1B1, 0x1B1},
};

const struct ethosu_ext_part ethosu_ext_part_U55 = {
    .address_bits = 32,
    .pmu_counters = 4,
    .qconfig = 2,
    .regioncfg = 0x5553, // region 0: 3 (M1), region 1: 0 (M0), the others: 1 (M0)
    .fault_bits = FAULT_BITS,
    .config_mask = CONFIG_MASK,
    .settings = settings,
    .defaults = &u55_defaults,
    .reads_only = 1u << 2 | 1u << 3, // AXI_LIMIT2 and 3: M1
    .setting_count = COUNT(settings),
    .event_range_count = COUNT(event_ranges),
    .event_ranges = event_ranges,
};

const struct ethosu_ext_part ethosu_ext_part_U65 = {
    .address_bits = 40,
    .pmu_counters = 4,
    .qconfig = 2,
    .regioncfg = 0x555B, // region 0: 3, region 1: 2 (both M1), the others: 1 (M0)
    .fault_bits = FAULT_BITS,
    .config_mask = CONFIG_MASK,
    .settings = settings,
    .defaults = &u65_defaults,
    .setting_count = COUNT(settings),
    .event_range_count = COUNT(event_ranges),
    .event_ranges = event_ranges,
};
