// SPDX-License-Identifier: MIT
/**
 * Registers of Ethos-U55, U65 and U85 that the driver uses: byte offsets in
 * the register window, and their fields.
 *
 * Source: the register maps in Arm's Ethos-U technical reference manuals and
 * core driver. Registers that only some products have are marked.
 */
#ifndef ETHOSU_REGISTERS_H
#define ETHOSU_REGISTERS_H

/** Byte offsets. */
enum ethosu_ext_register {
    NPU_ID = 0x000,
    NPU_STATUS = 0x004,
    NPU_CMD = 0x008,
    NPU_RESET = 0x00C,
    NPU_QBASE = 0x010, /**< high word at + 4 */
    NPU_QREAD = 0x018,
    NPU_QCONFIG = 0x01C,
    NPU_QSIZE = 0x020,
    NPU_PROT = 0x024,
    NPU_CONFIG = 0x028,
    NPU_POWER_CTRL = 0x038, /**< U85 */
    NPU_REGIONCFG = 0x03C,
    NPU_AXI_LIMIT0 = 0x040,   /**< U55, U65: four of them */
    NPU_MEM_ATTR0 = 0x040,    /**< U85: four of them */
    NPU_AXI_SRAM = 0x050,     /**< U85 */
    NPU_AXI_EXT = 0x054,      /**< U85 */
    NPU_CFG_SRAM_CAP = 0x060, /**< U85: upper limits of AXI_SRAM */
    NPU_CFG_EXT_CAP = 0x064,  /**< U85: upper limits of AXI_EXT */
    NPU_BASEP0 = 0x080,       /**< eight pairs of low and high word */
    NPU_PMCR = 0x180,         /**< from here on one page higher on U85, see pmu_offset */
    NPU_PMCNTENSET = 0x184,
    NPU_PMCNTENCLR = 0x188,
    NPU_PMOVSSET = 0x18C,
    NPU_PMOVSCLR = 0x190,
    NPU_PMINTSET = 0x194,
    NPU_PMINTCLR = 0x198,
    NPU_PMCCNTR_LO = 0x1A0,
    NPU_PMCCNTR_HI = 0x1A4,
    NPU_PMCCNTR_CFG = 0x1A8,
    NPU_PMEVCNTR0 = 0x300,
    NPU_PMEVTYPER0 = 0x380,
};

/* STATUS: enum ethosu_ext_status_bit names the common bits */
#define NPU_STATUS_INTERFACE(status) (((status) >> 11) & 0x1u)
#define NPU_STATUS_CHANNEL(status) (((status) >> 12) & 0xFu)

/* CMD */
#define NPU_CMD_RUN 0x1u
#define NPU_CMD_CLEAR_IRQ 0x2u
#define NPU_CMD_CLOCK_Q_ENABLE 0x4u
#define NPU_CMD_POWER_Q_ENABLE 0x8u
#define NPU_CMD_Q_BITS (NPU_CMD_CLOCK_Q_ENABLE | NPU_CMD_POWER_Q_ENABLE)

/* RESET and PROT have the same two fields */
#define NPU_PROT_PRIVILEGED 0x1u
#define NPU_PROT_NON_SECURE 0x2u

/* CONFIG */
#define NPU_CONFIG_MACS(config) ((config) & 0xFu)
#define NPU_CONFIG_STREAM_VERSION(config) (((config) >> 4) & 0xFu)
#define NPU_CONFIG_CUSTOM_DMA 0x08000000u
#define NPU_CONFIG_PRODUCT(config) ((config) >> 28)

/* ID */
#define NPU_ID_VERSION_STATUS(id) ((id) & 0xFu)
#define NPU_ID_VERSION_MINOR(id) (((id) >> 4) & 0xFu)
#define NPU_ID_VERSION_MAJOR(id) (((id) >> 8) & 0xFu)
#define NPU_ID_PRODUCT_MAJOR(id) (((id) >> 12) & 0xFu)
#define NPU_ID_ARCH_PATCH(id) (((id) >> 16) & 0xFu)
#define NPU_ID_ARCH_MINOR(id) (((id) >> 20) & 0xFFu)
#define NPU_ID_ARCH_MAJOR(id) ((id) >> 28)

/* PMCR */
#define NPU_PMCR_ENABLE 0x1u
#define NPU_PMCR_EVENT_RESET 0x2u
#define NPU_PMCR_CYCLE_RESET 0x4u

/* PMCCNTR_CFG and PMEVTYPER */
#define NPU_PMU_EVENT_MASK 0x3FFu

#endif
