// SPDX-License-Identifier: MIT
/** Ethos-U85 support. */
#include "driver/device/device.h"
#include "driver/base/ethosu_count.h"

/** MEM_ATTR: memory domain [1:0], AXI port [2] (0 SRAM, 1 EXT), memory type [7:4] */
enum { PORT_SRAM = 0x0, PORT_EXT = 0x4 };

/** AXI_SRAM, AXI_EXT and their CAP registers: outstanding reads and writes, length of bursts. */
#define AXI_PORT(reads, writes) (((reads) - 1u) | ((writes) - 1u) << 8 | BURSTS_OF_256)
#define BURSTS_OF_256 (2u << 16)
static const uint32_t axi_fields[] = {0x0000003F, 0x00001F00, 0x00030000, 0};

static const struct ethosu_npu_settings defaults = {
    .mem_attr = {PORT_SRAM, PORT_SRAM, PORT_EXT, PORT_EXT},
    .axi_sram = AXI_PORT(12, 16),
    .axi_ext = AXI_PORT(64, 32),
};

#define SETTING(register, limit, member, configured)                    \
    {(register), (limit), offsetof(struct ethosu_npu_settings, member), \
     offsetof(struct u85_config_t, configured)}

static const struct ethosu_ext_setting settings[] = {
    SETTING(NPU_MEM_ATTR0 + 0x0, 0, mem_attr[0], mem_attr[0]),
    SETTING(NPU_MEM_ATTR0 + 0x4, 0, mem_attr[1], mem_attr[1]),
    SETTING(NPU_MEM_ATTR0 + 0x8, 0, mem_attr[2], mem_attr[2]),
    SETTING(NPU_MEM_ATTR0 + 0xC, 0, mem_attr[3], mem_attr[3]),
    SETTING(NPU_AXI_SRAM, NPU_CFG_SRAM_CAP, axi_sram, axi_sram),
    SETTING(NPU_AXI_EXT, NPU_CFG_EXT_CAP, axi_ext, axi_ext),
    SETTING(NPU_POWER_CTRL, 0, power_ramp, power_ctrl),
};

const struct ethosu_ext_part ethosu_ext_part_U85 = {
    .address_bits = 40,
    .pmu_counters = 8,
    .pmu_offset = 0x1000,
    .qconfig = 2,
    .qconfig_at = offsetof(struct u85_config_t, qconfig),
    .regioncfg = 0x5553, // region 0: MEM_ATTR3, region 1: MEM_ATTR0, the others: MEM_ATTR1
    .fault_bits = ETHOSU_EXT_STATUS_BUS_ERROR | ETHOSU_EXT_STATUS_PARSE_ERROR |
                  ETHOSU_EXT_STATUS_BRANCH | ETHOSU_EXT_STATUS_ECC,
    .config_mask = 0xF000070Fu, // product, AXI ports, macs_per_cc
    .settings = settings,
    .defaults = &defaults,
    .limited_fields = axi_fields,
    .setting_count = COUNT(settings),
    .pmu_family = 2,
};
