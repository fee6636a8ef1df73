// SPDX-License-Identifier: MIT
/**
 * Performance counters of an Ethos-U NPU: the interface of Arm's core driver.
 *
 * Events are those of ethosu_pmu_types.h. An event that this NPU lacks is refused
 * (the counter keeps its event). Counter numbers that it lacks read as 0 and ignore writes.
 */
#ifndef PMU_ETHOSU_H
#define PMU_ETHOSU_H

#include "ethosu_driver.h"
#include "ethosu_pmu_types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
