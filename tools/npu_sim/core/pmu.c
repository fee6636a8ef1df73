// SPDX-License-Identifier: MIT
/** Performance counters. Register layout: PMU section of Arm's interface headers. */
#include "core/pmu.h"

#include <string.h>

#include "core/npu_internal.h"

enum {
    PAGE = 0xFFF, /**< Ethos-U85 has the same registers one page further on */
    PMCR = 0x180,
    PMCNTENSET = 0x184,
    PMCNTENCLR = 0x188,
    PMOVSSET = 0x18C,
    PMOVSCLR = 0x190,
    PMINTSET = 0x194,
    PMINTCLR = 0x198,
    PMCCNTR_LO = 0x1A0,
    PMCCNTR_HI = 0x1A4,
    PMCCNTR_CFG = 0x1A8,
    PMCAXI_CHAN = 0x1AC,
    PMEVCNTR0 = 0x300,
    PMEVTYPER0 = 0x380,
};

enum {
    CONTROL_ENABLE = 1 << 0,
    CONTROL_EVENT_RESET = 1 << 1,
    CONTROL_CYCLE_RESET = 1 << 2,
    CONTROL_MASK_ENABLE = 1 << 3,
    CONTROL_COUNTERS_SHIFT = 11,
    AXI_CHANNEL_MASK = 0xF,
    AXI_CHANNEL_SELECT = 1 << 10,
    BYTES_PER_TRANSACTION = 64,
};

#define CYCLE_COUNTER_BIT (1u << 31)
#define EVENT_TYPE_MASK 0x3FFu
#define STOP_EVENT_SHIFT 16
#define CYCLE_MASK (((uint64_t)1 << 48) - 1)

void npu_pmu_reset(struct npu *npu)
{
    memset(&npu->pmu, 0, sizeof npu->pmu);
    npu->pmu.counting = true;
}

/** Start or stop PMCCNTR. */
static void see_event(struct npu_pmu_run *run, unsigned event)
{
    if (event == run->start) {
        run->counting = true;
    }
    if (event == run->stop) {
        run->counting = false;
    }
}

void npu_pmu_start(struct npu *npu)
{
    struct npu_pmu_run *run = &npu->run.pmu;
    memset(run->count, 0, sizeof run->count);
    run->enabled = (npu->pmu.control & CONTROL_ENABLE) != 0;
    run->gated = (npu->pmu.control & CONTROL_MASK_ENABLE) != 0;
    run->open = false;
    run->axi_chan = npu->pmu.axi_chan;
    run->start = npu->pmu.cycle_config & EVENT_TYPE_MASK;
    run->stop = npu->pmu.cycle_config >> STOP_EVENT_SHIFT & EVENT_TYPE_MASK;
    run->counting = npu->pmu.counting;
    run->cycles = 0;
}

void npu_pmu_count(struct npu *npu, unsigned event, uint64_t amount)
{
    struct npu_pmu_run *run = &npu->run.pmu;
    if (run->enabled && (run->open || !run->gated)) {
        run->count[event] += amount;
        if (amount > 0) {
            see_event(run, event);
        }
    }
}

void npu_pmu_count_time(struct npu *npu, uint64_t cycles)
{
    struct npu_pmu_run *run = &npu->run.pmu;
    npu_pmu_count(npu, NPU_EVENT_CYCLE, cycles);
    npu_pmu_count(npu, NPU_EVENT_ACTIVE, cycles);
    npu_pmu_count(npu, (uint32_t)NPU_EVENT_AXI0 + NPU_AXI_ENABLED_CYCLES, cycles);
    npu_pmu_count(npu, (uint32_t)NPU_EVENT_AXI1 + NPU_AXI_ENABLED_CYCLES, cycles);
    if (run->counting && run->enabled && (run->open || !run->gated)) {
        run->cycles += cycles;
    }
}

void npu_pmu_count_axi(struct npu *npu, unsigned port, enum npu_channel channel, uint64_t bytes)
{
    const struct npu_pmu_run *run = &npu->run.pmu;
    bool one = (run->axi_chan & AXI_CHANNEL_SELECT) != 0;
    if (!run->enabled || (one && (run->axi_chan & AXI_CHANNEL_MASK) != channel)) {
        return;
    }
    unsigned axi = port == 0 ? NPU_EVENT_AXI0 : NPU_EVENT_AXI1;
    uint64_t beats =
        (bytes + npu->product->family->axi_bytes - 1) / npu->product->family->axi_bytes;
    uint64_t transactions = (bytes + BYTES_PER_TRANSACTION - 1) / BYTES_PER_TRANSACTION;
    if (npu_channel_writes(channel)) {
        npu_pmu_count(npu, axi + NPU_AXI_WRITE_ACCEPTED, transactions);
        npu_pmu_count(npu, axi + NPU_AXI_WRITE_COMPLETED_M, transactions);
        npu_pmu_count(npu, axi + NPU_AXI_WRITE_COMPLETED_S, transactions);
        npu_pmu_count(npu, axi + NPU_AXI_WRITE_BEAT, beats);
    } else {
        npu_pmu_count(npu, axi + NPU_AXI_READ_ACCEPTED, transactions);
        npu_pmu_count(npu, axi + NPU_AXI_READ_COMPLETED, transactions);
        npu_pmu_count(npu, axi + NPU_AXI_READ_BEAT, beats);
    }
}

bool npu_pmu_mask(struct npu *npu, uint32_t param)
{
    npu->run.pmu.open = param != 0;
    return true;
}

/** A port's share: its ports take turns, and are all enabled all the time. */
static uint64_t count_of_port(const struct npu *npu, uint32_t event)
{
    bool ext = event >= NPU_EVENT_EXT0;
    uint32_t ports = npu->product->axis[ext];
    uint32_t number = event - (ext ? NPU_EVENT_EXT0 : NPU_EVENT_SRAM0);
    uint32_t port = number / NPU_EVENT_PORT_STEP;
    uint32_t which = number % NPU_EVENT_PORT_STEP;
    uint64_t all = npu->run.pmu.count[(ext ? NPU_EVENT_AXI1 : NPU_EVENT_AXI0) + which];
    if (port >= ports || npu->product->family->index != NPU_U85) {
        return 0;
    }
    return which == NPU_AXI_ENABLED_CYCLES ? all : all / ports + (port < all % ports);
}

static uint64_t count_of(const struct npu *npu, uint32_t event)
{
    if (event >= NPU_EVENT_SRAM0 && event < NPU_EVENT_PORTS_END) {
        return count_of_port(npu, event);
    }
    return event < NPU_PMU_EVENT_LIMIT ? npu->run.pmu.count[event] : 0;
}

bool npu_pmu_publish(struct npu *npu)
{
    struct npu_pmu *pmu = &npu->pmu;
    struct npu_pmu_run *run = &npu->run.pmu;
    for (unsigned i = 0; i < NPU_PMU_COUNTERS; i++) {
        if ((pmu->enabled >> i & 1) == 0) {
            continue;
        }
        uint64_t sum = pmu->counter[i] + count_of(npu, pmu->type[i] & EVENT_TYPE_MASK);
        pmu->counter[i] = (uint32_t)sum;
        pmu->overflow |= sum > UINT32_MAX ? 1u << i : 0;
    }
    if ((pmu->enabled & CYCLE_COUNTER_BIT) != 0) {
        uint64_t sum = pmu->cycles + run->cycles;
        pmu->cycles = sum & CYCLE_MASK;
        pmu->overflow |= sum > CYCLE_MASK ? CYCLE_COUNTER_BIT : 0;
    }
    memset(run->count, 0, sizeof run->count);
    run->cycles = 0;
    if (!npu->running && run->enabled) {
        see_event(run, NPU_EVENT_IDLE);
    }
    pmu->counting = run->counting;
    return (pmu->overflow & pmu->interrupt) != 0;
}

static uint32_t *plain_register(struct npu_pmu *pmu, uint32_t offset)
{
    if (offset >= PMEVTYPER0) {
        return &pmu->type[(offset - PMEVTYPER0) / 4];
    }
    if (offset >= PMEVCNTR0) {
        return &pmu->counter[(offset - PMEVCNTR0) / 4];
    }
    return offset == PMCCNTR_CFG ? &pmu->cycle_config : &pmu->axi_chan;
}

static uint32_t *bitset_register(struct npu_pmu *pmu, uint32_t offset)
{
    switch (offset) {
    case PMCNTENSET:
    case PMCNTENCLR:
        return &pmu->enabled;
    case PMOVSSET:
    case PMOVSCLR:
        return &pmu->overflow;
    case PMINTSET:
    case PMINTCLR:
        return &pmu->interrupt;
    default:
        return NULL;
    }
}

uint32_t npu_pmu_read(struct npu *npu, uint32_t offset)
{
    struct npu_pmu *pmu = &npu->pmu;
    offset &= PAGE;
    const uint32_t *bitset = bitset_register(pmu, offset);
    if (bitset != NULL) {
        return *bitset;
    }
    switch (offset) {
    case PMCR:
        return pmu->control | (uint32_t)npu->product->family->pmu_counters
                                  << CONTROL_COUNTERS_SHIFT;
    case PMCCNTR_LO:
        return (uint32_t)pmu->cycles;
    case PMCCNTR_HI:
        return (uint32_t)(pmu->cycles >> 32);
    default:
        return *plain_register(pmu, offset);
    }
}

static void write_control(struct npu_pmu *pmu, uint32_t value)
{
    pmu->control = value & (CONTROL_ENABLE | CONTROL_MASK_ENABLE);
    if ((value & CONTROL_EVENT_RESET) != 0) {
        memset(pmu->counter, 0, sizeof pmu->counter);
    }
    if ((value & CONTROL_CYCLE_RESET) != 0) {
        pmu->cycles = 0;
    }
}

enum npu_action npu_pmu_write(struct npu *npu, uint32_t offset, uint32_t value)
{
    struct npu_pmu *pmu = &npu->pmu;
    offset &= PAGE;
    uint32_t *bitset = bitset_register(pmu, offset);
    if (bitset != NULL) {
        bool set = offset == PMCNTENSET || offset == PMOVSSET || offset == PMINTSET;
        value &= CYCLE_COUNTER_BIT | ((1u << npu->product->family->pmu_counters) - 1);
        *bitset = set ? *bitset | value : *bitset & ~value;
        return NPU_ACTION_NONE;
    }
    switch (offset) {
    case PMCR:
        write_control(pmu, value);
        break;
    case PMCCNTR_LO:
        pmu->cycles = (pmu->cycles & ~(uint64_t)UINT32_MAX) | value;
        break;
    case PMCCNTR_HI:
        pmu->cycles = ((uint64_t)value << 32 | (uint32_t)pmu->cycles) & CYCLE_MASK;
        break;
    case PMCCNTR_CFG:
        pmu->cycle_config = value;
        pmu->counting = (value & EVENT_TYPE_MASK) == 0; // without a start event from now on
        break;
    default:
        *plain_register(pmu, offset) = value;
        break;
    }
    return NPU_ACTION_NONE;
}
