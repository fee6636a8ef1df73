// SPDX-License-Identifier: MIT
/** Performance counters: register accesses, limited to the counters and events of this NPU. */
#include "pmu_ethosu.h"

#include "driver/device/device.h"
#include "ethosu_ext.h"

/** The cycle counter has 48 bits. */
#define CYCLES_HIGH_MASK 0xFFFFu

/** Fields of PMCCNTR_CFG. */
#define START_SHIFT 0
#define STOP_SHIFT 16

static uint32_t get(const struct ethosu_driver *drv, uint32_t offset)
{
    return ethosu_io_read(drv->dev.reg, offset + drv->dev.part->pmu_offset);
}

static void set(const struct ethosu_driver *drv, uint32_t offset, uint32_t value)
{
    ethosu_io_write(drv->dev.reg, offset + drv->dev.part->pmu_offset, value);
}

static bool has_counter(const struct ethosu_driver *drv, uint32_t num)
{
    return num < drv->dev.part->pmu_counters;
}

/** Table by enum ethosu_pmu_event_type: event number, and families from this bit on. */
#define FAMILIES_SHIFT 12
static const uint16_t events[] = {
#define ETHOSU_EXT_PMU_EVENT(name, number, families) (number) | (families) << FAMILIES_SHIFT,
#include "ethosu_pmu_events.def"
#undef ETHOSU_EXT_PMU_EVENT
};

static bool has(const struct ethosu_driver *drv, uint32_t event)
{
    return event < ETHOSU_PMU_SENTINEL &&
           (events[event] >> FAMILIES_SHIFT & drv->dev.part->pmu_family) != 0;
}

static uint32_t number_of(uint32_t event)
{
    return events[event] & NPU_PMU_EVENT_MASK;
}

/** Find the event with this number on this NPU; ETHOSU_PMU_SENTINEL if not found. */
static enum ethosu_pmu_event_type event_of(const struct ethosu_driver *drv, uint32_t number)
{
    uint32_t event = 0;
    while (event < ETHOSU_PMU_SENTINEL && (number_of(event) != number || !has(drv, event))) {
        event++;
    }
    return (enum ethosu_pmu_event_type)event;
}

bool ethosu_ext_pmu_has_event(const struct ethosu_driver *drv, uint32_t number)
{
    return event_of(drv, number) != ETHOSU_PMU_SENTINEL;
}

void ETHOSU_PMU_Enable(struct ethosu_driver *drv)
{
    if (ethosu_request_power(drv) == 0) {
        set(drv, NPU_PMCR, NPU_PMCR_ENABLE);
    }
}

void ETHOSU_PMU_Disable(struct ethosu_driver *drv)
{
    set(drv, NPU_PMCR, 0);
    ethosu_release_power(drv);
}

void ETHOSU_PMU_Set_EVTYPER(struct ethosu_driver *drv, uint32_t num,
                            enum ethosu_pmu_event_type type)
{
    if (has_counter(drv, num) && has(drv, type)) {
        set(drv, NPU_PMEVTYPER0 + 4 * num, number_of(type));
    }
}

void ethosu_ext_pmu_set_event(struct ethosu_driver *drv, uint32_t num, uint32_t number)
{
    ETHOSU_PMU_Set_EVTYPER(drv, num, event_of(drv, number));
}

enum ethosu_pmu_event_type ETHOSU_PMU_Get_EVTYPER(struct ethosu_driver *drv, uint32_t num)
{
    return has_counter(drv, num)
               ? event_of(drv, get(drv, NPU_PMEVTYPER0 + 4 * num) & NPU_PMU_EVENT_MASK)
               : ETHOSU_PMU_SENTINEL;
}

uint32_t ETHOSU_PMU_Get_NumEventCountersForDrv(struct ethosu_driver *drv)
{
    return drv->dev.part->pmu_counters;
}

uint32_t ETHOSU_PMU_Get_NumEventCounters(void)
{
    uint32_t fewest = ETHOSU_PMU_NCOUNTERS;
    for (struct ethosu_driver *drv = ethosu_ext_next(NULL); drv != NULL;
         drv = ethosu_ext_next(drv)) {
        uint32_t counters = ETHOSU_PMU_Get_NumEventCountersForDrv(drv);
        fewest = counters < fewest ? counters : fewest;
    }
    return fewest;
}

void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver *drv)
{
    set(drv, NPU_PMCR, get(drv, NPU_PMCR) | NPU_PMCR_CYCLE_RESET);
}

void ETHOSU_PMU_EVCNTR_ALL_Reset(struct ethosu_driver *drv)
{
    set(drv, NPU_PMCR, get(drv, NPU_PMCR) | NPU_PMCR_EVENT_RESET);
}

void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver *drv, uint32_t mask)
{
    set(drv, NPU_PMCNTENSET, mask);
}

void ETHOSU_PMU_CNTR_Disable(struct ethosu_driver *drv, uint32_t mask)
{
    set(drv, NPU_PMCNTENCLR, mask);
}

uint32_t ETHOSU_PMU_CNTR_Status(struct ethosu_driver *drv)
{
    return get(drv, NPU_PMCNTENSET);
}

uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver *drv)
{
    // The low word may wrap between two reads, which changes the high word.
    uint32_t high = get(drv, NPU_PMCCNTR_HI) & CYCLES_HIGH_MASK;
    uint32_t low = get(drv, NPU_PMCCNTR_LO);
    uint32_t again = get(drv, NPU_PMCCNTR_HI) & CYCLES_HIGH_MASK;
    if (again != high) {
        high = again;
        low = get(drv, NPU_PMCCNTR_LO);
    }
    return (uint64_t)high << 32 | low;
}

void ETHOSU_PMU_Set_CCNTR(struct ethosu_driver *drv, uint64_t val)
{
    uint32_t active = ETHOSU_PMU_CNTR_Status(drv) & ETHOSU_PMU_CCNT_Msk;
    ETHOSU_PMU_CNTR_Disable(drv, active);
    set(drv, NPU_PMCCNTR_LO, (uint32_t)val);
    set(drv, NPU_PMCCNTR_HI, (uint32_t)(val >> 32) & CYCLES_HIGH_MASK);
    ETHOSU_PMU_CNTR_Enable(drv, active);
}

uint32_t ETHOSU_PMU_Get_EVCNTR(struct ethosu_driver *drv, uint32_t num)
{
    return has_counter(drv, num) ? get(drv, NPU_PMEVCNTR0 + 4 * num) : 0;
}

void ETHOSU_PMU_Set_EVCNTR(struct ethosu_driver *drv, uint32_t num, uint32_t val)
{
    if (has_counter(drv, num)) {
        set(drv, NPU_PMEVCNTR0 + 4 * num, val);
    }
}

uint32_t ETHOSU_PMU_Get_CNTR_OVS(struct ethosu_driver *drv)
{
    return get(drv, NPU_PMOVSSET);
}

void ETHOSU_PMU_Set_CNTR_OVS(struct ethosu_driver *drv, uint32_t mask)
{
    set(drv, NPU_PMOVSCLR, mask);
}

void ETHOSU_PMU_Set_CNTR_IRQ_Enable(struct ethosu_driver *drv, uint32_t mask)
{
    set(drv, NPU_PMINTSET, mask);
}

void ETHOSU_PMU_Set_CNTR_IRQ_Disable(struct ethosu_driver *drv, uint32_t mask)
{
    set(drv, NPU_PMINTCLR, mask);
}

uint32_t ETHOSU_PMU_Get_IRQ_Enable(struct ethosu_driver *drv)
{
    return get(drv, NPU_PMINTSET);
}

void ETHOSU_PMU_CNTR_Increment(struct ethosu_driver *drv, uint32_t mask)
{
    uint32_t active = ETHOSU_PMU_CNTR_Status(drv) & mask;
    ETHOSU_PMU_CNTR_Disable(drv, active);
    if (mask & ETHOSU_PMU_CCNT_Msk) {
        ETHOSU_PMU_Set_CCNTR(drv, ETHOSU_PMU_Get_CCNTR(drv) + 1);
    }
    for (uint32_t num = 0; has_counter(drv, num); num++) {
        if (mask >> num & 1) {
            ETHOSU_PMU_Set_EVCNTR(drv, num, ETHOSU_PMU_Get_EVCNTR(drv, num) + 1);
        }
    }
    ETHOSU_PMU_CNTR_Enable(drv, active);
}

static void set_event(struct ethosu_driver *drv, uint32_t shift, uint32_t event)
{
    if (has(drv, event)) {
        uint32_t others = get(drv, NPU_PMCCNTR_CFG) & ~(NPU_PMU_EVENT_MASK << shift);
        set(drv, NPU_PMCCNTR_CFG, others | number_of(event) << shift);
    }
}

void ETHOSU_PMU_PMCCNTR_CFG_Set_Start_Event(struct ethosu_driver *drv,
                                            enum ethosu_pmu_event_type start_event)
{
    set_event(drv, START_SHIFT, start_event);
}

void ETHOSU_PMU_PMCCNTR_CFG_Set_Stop_Event(struct ethosu_driver *drv,
                                           enum ethosu_pmu_event_type stop_event)
{
    set_event(drv, STOP_SHIFT, stop_event);
}

uint32_t ETHOSU_PMU_Get_QREAD(struct ethosu_driver *drv)
{
    return ethosu_io_read(drv->dev.reg, NPU_QREAD);
}

uint32_t ETHOSU_PMU_Get_STATUS(struct ethosu_driver *drv)
{
    return ethosu_io_read(drv->dev.reg, NPU_STATUS);
}
