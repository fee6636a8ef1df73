// SPDX-License-Identifier: MIT
/** Performance counters: events counted while a stream runs, published when it ends. */
#ifndef NPU_PMU_H
#define NPU_PMU_H

#include <stdbool.h>
#include <stdint.h>

#include "core/parts.h"
#include "npu_sim.h"

enum { NPU_PMU_COUNTERS = 8 /**< of Ethos-U85 */, NPU_PMU_EVENT_LIMIT = 0x190 };

/**
 * Event numbers of PMEVTYPER that the simulator counts; all others stay 0. npu.md of the module has
 * the list for users.
 */
enum npu_pmu_event {
    NPU_EVENT_CYCLE = 0x11,
    NPU_EVENT_IDLE = 0x20, /**< only as start or stop of PMCCNTR */
    NPU_EVENT_ACTIVE = 0x23,
    NPU_EVENT_MAC_ACTIVE = 0x30,
    NPU_EVENT_MAC_ACTIVE_8BIT = 0x31,
    NPU_EVENT_MAC_ACTIVE_16BIT = 0x32,
    NPU_EVENT_MAC_DPU_ACTIVE = 0x33,
    NPU_EVENT_MAC_ACTIVE_32BIT = 0x38,
    NPU_EVENT_AO_ACTIVE = 0x40,
    NPU_EVENT_AO_ACTIVE_8BIT = 0x41,
    NPU_EVENT_AO_ACTIVE_16BIT = 0x42,
    NPU_EVENT_WD_ACTIVE = 0x50,
    NPU_EVENT_WD_PARSE_ACTIVE = 0x54,
    NPU_EVENT_WD_PARSE_ACTIVE_SC0 = 0x64, /**< of Ethos-U85; followed by SC1 to SC3 */
    NPU_EVENT_AXI0 = 0x80,
    NPU_EVENT_AXI1 = 0x180,
    /* Each port of Ethos-U85: its share of NPU_EVENT_AXI0 or NPU_EVENT_AXI1. */
    NPU_EVENT_SRAM0 = 0x200,
    NPU_EVENT_EXT0 = 0x280,
    NPU_EVENT_PORT_STEP = 0x10,
    NPU_EVENT_PORTS_END = 0x300,
};

/** Event numbers relative to NPU_EVENT_AXI0 and NPU_EVENT_AXI1. */
enum npu_pmu_axi_event {
    NPU_AXI_READ_ACCEPTED = 0x0,
    NPU_AXI_READ_COMPLETED = 0x1,
    NPU_AXI_READ_BEAT = 0x2,
    NPU_AXI_WRITE_ACCEPTED = 0x4,
    NPU_AXI_WRITE_COMPLETED_M = 0x5,
    NPU_AXI_WRITE_COMPLETED_S = 0x6,
    NPU_AXI_WRITE_BEAT = 0x7,
    NPU_AXI_ENABLED_CYCLES = 0xC,
};

/** Owned by the thread inside npu_execute(). */
struct npu_pmu_run {
    bool enabled;      /**< PMCR.cnt_en when the run started */
    bool gated;        /**< PMCR.mask_en: counting depends on NPU_OP_PMU_MASK */
    bool open;         /**< the gate */
    uint32_t axi_chan; /**< PMCAXI_CHAN */
    uint64_t count[NPU_PMU_EVENT_LIMIT];
    unsigned start, stop; /**< events of PMCCNTR_CFG; 0: none */
    bool counting;        /**< PMCCNTR counts: the start event was seen, and no stop event since */
    uint64_t cycles;      /**< for PMCCNTR */
};

/** Owned by the register thread. */
struct npu_pmu {
    uint32_t control, enabled, overflow, interrupt, cycle_config, axi_chan;
    bool counting; /**< as in struct npu_pmu_run, between runs */
    uint64_t cycles;
    uint32_t counter[NPU_PMU_COUNTERS];
    uint32_t type[NPU_PMU_COUNTERS];
};

void npu_pmu_reset(struct npu *npu);

/** Start of a run: latch the register values. */
void npu_pmu_start(struct npu *npu);

/** Add `amount` to an event count, if counting is enabled. */
void npu_pmu_count(struct npu *npu, unsigned event, uint64_t amount);

/** Add time to the events that last, and to PMCCNTR. */
void npu_pmu_count_time(struct npu *npu, uint64_t cycles);

/** Count a transfer over an AXI port; see npu_region_port(). */
void npu_pmu_count_axi(struct npu *npu, unsigned port, enum npu_channel channel, uint64_t bytes);

/** Add the run's counts to the counters. True if a PMU interrupt is due. */
bool npu_pmu_publish(struct npu *npu);

/* Register handlers. */
uint32_t npu_pmu_read(struct npu *npu, uint32_t offset);
enum npu_action npu_pmu_write(struct npu *npu, uint32_t offset, uint32_t value);

#endif
