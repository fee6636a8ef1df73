// SPDX-License-Identifier: MIT
/** Ethos-U55 and Ethos-U65 support. */
#include "driver/device/device.h"
#include "driver/base/ethosu_count.h"

/** AXI_LIMIT: outstanding reads and writes; bursts of 64 bytes, device memory. */
#define AXI_LIMIT(reads, writes) (((reads) - 1u) << 16 | ((writes) - 1u) << 24)

#define FAULT_BITS                                                                              \
    (ETHOSU_EXT_STATUS_BUS_ERROR | ETHOSU_EXT_STATUS_PARSE_ERROR | ETHOSU_EXT_STATUS_WATCHDOG | \
     ETHOSU_EXT_STATUS_ECC)

/** product, macs_per_cc */
#define CONFIG_MASK 0xF000000Fu

#define SETTING(register, member)                                            \
    {(register), 0, offsetof(struct ethosu_npu_settings, axi_limit[member]), \
     offsetof(struct u55_config_t, axi_limit##member)}

_Static_assert(sizeof(struct u55_config_t) == sizeof(struct u65_config_t), "one table serves both");

static const struct ethosu_ext_setting settings[] = {
    SETTING(NPU_AXI_LIMIT0 + 0x0, 0),
    SETTING(NPU_AXI_LIMIT0 + 0x4, 1),
    SETTING(NPU_AXI_LIMIT0 + 0x8, 2),
    SETTING(NPU_AXI_LIMIT0 + 0xC, 3),
};

static const struct ethosu_npu_settings u55_defaults = {
    .axi_limit = {AXI_LIMIT(32, 16), AXI_LIMIT(32, 16), AXI_LIMIT(32, 16), AXI_LIMIT(32, 16)},
};

static const struct ethosu_npu_settings u65_defaults = {
    .axi_limit = {AXI_LIMIT(64, 32), AXI_LIMIT(64, 32), AXI_LIMIT(64, 32), AXI_LIMIT(64, 32)},
};

const struct ethosu_ext_part ethosu_ext_part_U55 = {
    .address_bits = 32,
    .pmu_counters = 4,
    .qconfig = 2,
    .qconfig_at = offsetof(struct u55_config_t, qconfig),
    .regioncfg = 0x5553, // region 0: 3 (M1), region 1: 0 (M0), the others: 1 (M0)
    .fault_bits = FAULT_BITS,
    .config_mask = CONFIG_MASK,
    .settings = settings,
    .defaults = &u55_defaults,
    .reads_only = 1u << 2 | 1u << 3, // AXI_LIMIT2 and 3: M1
    .setting_count = COUNT(settings),
    .pmu_family = 1,
};

const struct ethosu_ext_part ethosu_ext_part_U65 = {
    .address_bits = 40,
    .pmu_counters = 4,
    .qconfig = 2,
    .qconfig_at = offsetof(struct u65_config_t, qconfig),
    .regioncfg = 0x555B, // region 0: 3, region 1: 2 (both M1), the others: 1 (M0)
    .fault_bits = FAULT_BITS,
    .config_mask = CONFIG_MASK,
    .settings = settings,
    .defaults = &u65_defaults,
    .setting_count = COUNT(settings),
    .pmu_family = 1,
};
