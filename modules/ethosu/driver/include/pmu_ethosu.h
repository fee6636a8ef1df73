// SPDX-License-Identifier: MIT
/**
 * Performance counters of an Ethos-U NPU: the interface of Arm's core driver.
 *
 * One image may drive several products, so the events of all of them are
 * here, under Arm's names; their values are the hardware's event numbers. An
 * event that this NPU lacks is refused (the counter keeps its event).
 * Counter numbers that it lacks read as 0 and ignore writes.
 */
#ifndef PMU_ETHOSU_H
#define PMU_ETHOSU_H

#include "ethosu_driver.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Event counters: of the product that the program was built for, else the most there are. */
#if defined(ETHOSU55) || defined(ETHOSU65)
#define ETHOSU_PMU_NCOUNTERS 4
#else
#define ETHOSU_PMU_NCOUNTERS 8
#endif

/** Bits of counter masks. */
#define ETHOSU_PMU_CNT1_Msk (1UL << 0)
#define ETHOSU_PMU_CNT2_Msk (1UL << 1)
#define ETHOSU_PMU_CNT3_Msk (1UL << 2)
#define ETHOSU_PMU_CNT4_Msk (1UL << 3)
#define ETHOSU_PMU_CNT5_Msk (1UL << 4)
#define ETHOSU_PMU_CNT6_Msk (1UL << 5)
#define ETHOSU_PMU_CNT7_Msk (1UL << 6)
#define ETHOSU_PMU_CNT8_Msk (1UL << 7)
#define ETHOSU_PMU_CCNT_Msk (1UL << 31)

/** The thirteen events of one memory port, or of all ports of a kind. */
#define ETHOSU_EXT_PMU_PORT_EVENTS(port, first)              \
    ETHOSU_PMU_##port##_RD_TRANS_ACCEPTED = (first),         \
    ETHOSU_PMU_##port##_RD_TRANS_COMPLETED = (first) + 1,    \
    ETHOSU_PMU_##port##_RD_DATA_BEAT_RECEIVED = (first) + 2, \
    ETHOSU_PMU_##port##_RD_TRAN_REQ_STALLED = (first) + 3,   \
    ETHOSU_PMU_##port##_WR_TRANS_ACCEPTED = (first) + 4,     \
    ETHOSU_PMU_##port##_WR_TRANS_COMPLETED_M = (first) + 5,  \
    ETHOSU_PMU_##port##_WR_TRANS_COMPLETED_S = (first) + 6,  \
    ETHOSU_PMU_##port##_WR_DATA_BEAT_WRITTEN = (first) + 7,  \
    ETHOSU_PMU_##port##_WR_TRAN_REQ_STALLED = (first) + 8,   \
    ETHOSU_PMU_##port##_WR_DATA_BEAT_STALLED = (first) + 9,  \
    ETHOSU_PMU_##port##_ENABLED_CYCLES = (first) + 12,       \
    ETHOSU_PMU_##port##_RD_STALL_LIMIT = (first) + 14,       \
    ETHOSU_PMU_##port##_WR_STALL_LIMIT = (first) + 15

/** One event for each of the four stream channels of the Ethos-U85's weight decoder. */
#define ETHOSU_EXT_PMU_CHANNEL_EVENTS(event, first)                       \
    ETHOSU_PMU_##event##0 = (first), ETHOSU_PMU_##event##1 = (first) + 1, \
    ETHOSU_PMU_##event##2 = (first) + 2, ETHOSU_PMU_##event##3 = (first) + 3

enum ethosu_pmu_event_type {
    /* all products */
    ETHOSU_PMU_NO_EVENT = 0x00,
    ETHOSU_PMU_CYCLE = 0x11,
    ETHOSU_PMU_NPU_IDLE = 0x20,
    ETHOSU_PMU_CC_STALLED_ON_BLOCKDEP = 0x21,
    ETHOSU_PMU_NPU_ACTIVE = 0x23,
    ETHOSU_PMU_MAC_ACTIVE = 0x30,
    ETHOSU_PMU_MAC_DPU_ACTIVE = 0x33,
    ETHOSU_PMU_MAC_STALLED_BY_ACC = 0x36,
    ETHOSU_PMU_MAC_STALLED_BY_IB = 0x37,
    ETHOSU_PMU_AO_ACTIVE = 0x40,
    ETHOSU_PMU_AO_STALLED_BY_OB = 0x45,
    ETHOSU_PMU_WD_ACTIVE = 0x50,
    ETHOSU_PMU_WD_STALLED = 0x51,
    ETHOSU_PMU_WD_STALLED_BY_WD_BUF = 0x53,
    ETHOSU_PMU_AXI_LATENCY_ANY = 0xA0,
    ETHOSU_PMU_AXI_LATENCY_32 = 0xA1,
    ETHOSU_PMU_AXI_LATENCY_64 = 0xA2,
    ETHOSU_PMU_AXI_LATENCY_128 = 0xA3,
    ETHOSU_PMU_AXI_LATENCY_256 = 0xA4,
    ETHOSU_PMU_AXI_LATENCY_512 = 0xA5,
    ETHOSU_PMU_AXI_LATENCY_1024 = 0xA6,
    ETHOSU_PMU_ECC_DMA = 0xB0,

    /* Ethos-U55 and U65 */
    ETHOSU_PMU_CC_STALLED_ON_SHRAM_RECONFIG = 0x22,
    ETHOSU_PMU_MAC_ACTIVE_8BIT = 0x31,
    ETHOSU_PMU_MAC_ACTIVE_16BIT = 0x32,
    ETHOSU_PMU_MAC_STALLED_BY_WD_ACC = 0x34,
    ETHOSU_PMU_MAC_STALLED_BY_WD = 0x35,
    ETHOSU_PMU_MAC_ACTIVE_32BIT = 0x38,
    ETHOSU_PMU_MAC_STALLED_BY_INT_W = 0x39,
    ETHOSU_PMU_MAC_STALLED_BY_INT_ACC = 0x3A,
    ETHOSU_PMU_AO_ACTIVE_8BIT = 0x41,
    ETHOSU_PMU_AO_ACTIVE_16BIT = 0x42,
    ETHOSU_PMU_AO_STALLED_BY_OFMP_OB = 0x43,
    ETHOSU_PMU_AO_STALLED_BY_OFMP = 0x44,
    ETHOSU_PMU_AO_STALLED_BY_ACC_IB = 0x46,
    ETHOSU_PMU_AO_STALLED_BY_ACC = 0x47,
    ETHOSU_PMU_AO_STALLED_BY_IB = 0x48,
    ETHOSU_PMU_WD_STALLED_BY_WS = 0x52,
    ETHOSU_PMU_WD_PARSE_ACTIVE = 0x54,
    ETHOSU_PMU_WD_PARSE_STALLED = 0x55,
    ETHOSU_PMU_WD_PARSE_STALLED_IN = 0x56,
    ETHOSU_PMU_WD_PARSE_STALLED_OUT = 0x57,
    ETHOSU_PMU_WD_TRANS_WS = 0x58,
    ETHOSU_PMU_WD_TRANS_WB = 0x59,
    ETHOSU_PMU_WD_TRANS_DW0 = 0x5A,
    ETHOSU_PMU_WD_TRANS_DW1 = 0x5B,
    ETHOSU_PMU_ECC_SB0 = 0xB1,
    ETHOSU_PMU_ECC_SB1 = 0x1B1,
    ETHOSU_EXT_PMU_PORT_EVENTS(AXI0, 0x80),
    ETHOSU_EXT_PMU_PORT_EVENTS(AXI1, 0x180),

    /* Ethos-U85 */
    ETHOSU_PMU_MAC_STALLED_BY_W_OR_ACC = 0x34,
    ETHOSU_PMU_MAC_STALLED_BY_W = 0x35,
    ETHOSU_PMU_AO_STALLED_BY_BS_OR_OB = 0x43,
    ETHOSU_PMU_AO_STALLED_BY_BS = 0x44,
    ETHOSU_PMU_AO_STALLED_BY_AB_OR_CB = 0x46,
    ETHOSU_PMU_AO_STALLED_BY_AB = 0x47,
    ETHOSU_PMU_AO_STALLED_BY_CB = 0x48,
    ETHOSU_PMU_WD_STALLED_BY_WS_FC = 0x54,
    ETHOSU_PMU_WD_STALLED_BY_WS_TC = 0x55,
    ETHOSU_PMU_WD_TRANS_WBLK = 0x59,
    ETHOSU_PMU_WD_TRANS_WS_FC = 0x5A,
    ETHOSU_PMU_WD_TRANS_WS_TC = 0x5B,
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_STALLED_BY_WS_SC, 0x60),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_PARSE_ACTIVE_SC, 0x64),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_PARSE_STALL_SC, 0x68),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_PARSE_STALL_IN_SC, 0x6C),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_PARSE_STALL_OUT_SC, 0x70),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_TRANS_WS_SC, 0x74),
    ETHOSU_EXT_PMU_CHANNEL_EVENTS(WD_TRANS_WB, 0x78),
    ETHOSU_PMU_ECC_MAC_IB = 0xB1,
    ETHOSU_PMU_ECC_MAC_AB = 0xB2,
    ETHOSU_PMU_ECC_AO_CB = 0xB3,
    ETHOSU_PMU_ECC_AO_OB = 0xB4,
    ETHOSU_PMU_ECC_AO_LUT = 0xB5,
    ETHOSU_EXT_PMU_PORT_EVENTS(SRAM, 0x80),
    ETHOSU_EXT_PMU_PORT_EVENTS(EXT, 0x180),
    ETHOSU_EXT_PMU_PORT_EVENTS(SRAM0, 0x200),
    ETHOSU_EXT_PMU_PORT_EVENTS(SRAM1, 0x210),
    ETHOSU_EXT_PMU_PORT_EVENTS(SRAM2, 0x220),
    ETHOSU_EXT_PMU_PORT_EVENTS(SRAM3, 0x230),
    ETHOSU_EXT_PMU_PORT_EVENTS(EXT0, 0x280),
    ETHOSU_EXT_PMU_PORT_EVENTS(EXT1, 0x290),

    ETHOSU_PMU_SENTINEL = 0x2A0, /**< not an event */
};

/** Switch the counters on as a whole; keeps the NPU powered until ETHOSU_PMU_Disable(). */
void ETHOSU_PMU_Enable(struct ethosu_driver *drv);
void ETHOSU_PMU_Disable(struct ethosu_driver *drv);

/** Choose what event counter `num` counts. */
void ETHOSU_PMU_Set_EVTYPER(struct ethosu_driver *drv, uint32_t num,
                            enum ethosu_pmu_event_type type);

/** What event counter `num` counts; ETHOSU_PMU_SENTINEL when that is no event of this NPU. */
enum ethosu_pmu_event_type ETHOSU_PMU_Get_EVTYPER(struct ethosu_driver *drv, uint32_t num);

/** Event counters that every NPU of the system has. */
uint32_t ETHOSU_PMU_Get_NumEventCounters(void);

void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver *drv);
void ETHOSU_PMU_EVCNTR_ALL_Reset(struct ethosu_driver *drv);

/** Start, stop counters of a mask; which ones are started. */
void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver *drv, uint32_t mask);
void ETHOSU_PMU_CNTR_Disable(struct ethosu_driver *drv, uint32_t mask);
uint32_t ETHOSU_PMU_CNTR_Status(struct ethosu_driver *drv);

/** The cycle counter, 48 bits; read consistently while it counts. */
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver *drv);
void ETHOSU_PMU_Set_CCNTR(struct ethosu_driver *drv, uint64_t val);

uint32_t ETHOSU_PMU_Get_EVCNTR(struct ethosu_driver *drv, uint32_t num);
void ETHOSU_PMU_Set_EVCNTR(struct ethosu_driver *drv, uint32_t num, uint32_t val);

/** Which counters have overflowed; Set clears those of the mask. */
uint32_t ETHOSU_PMU_Get_CNTR_OVS(struct ethosu_driver *drv);
void ETHOSU_PMU_Set_CNTR_OVS(struct ethosu_driver *drv, uint32_t mask);

/** Overflow interrupts; the interrupt handler switches them off when one comes. */
void ETHOSU_PMU_Set_CNTR_IRQ_Enable(struct ethosu_driver *drv, uint32_t mask);
void ETHOSU_PMU_Set_CNTR_IRQ_Disable(struct ethosu_driver *drv, uint32_t mask);
uint32_t ETHOSU_PMU_Get_IRQ_Enable(struct ethosu_driver *drv);

/** Add one to the counters of a mask. */
void ETHOSU_PMU_CNTR_Increment(struct ethosu_driver *drv, uint32_t mask);

/** Events that start and stop the cycle counter; ETHOSU_PMU_NO_EVENT: it runs freely. */
void ETHOSU_PMU_PMCCNTR_CFG_Set_Start_Event(struct ethosu_driver *drv,
                                            enum ethosu_pmu_event_type start_event);
void ETHOSU_PMU_PMCCNTR_CFG_Set_Stop_Event(struct ethosu_driver *drv,
                                           enum ethosu_pmu_event_type stop_event);

/** Registers QREAD and STATUS. */
uint32_t ETHOSU_PMU_Get_QREAD(struct ethosu_driver *drv);
uint32_t ETHOSU_PMU_Get_STATUS(struct ethosu_driver *drv);

#ifdef __cplusplus
}
#endif

#endif
