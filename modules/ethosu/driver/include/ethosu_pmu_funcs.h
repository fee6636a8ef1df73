// SPDX-License-Identifier: MIT
/**
 * Performance counters of an Ethos-U NPU: the interface of Arm's core driver, 1.0 and 1.99.
 *
 * Events are listed in ethosu_pmu_types.h. Events that this NPU lacks are rejected
 * (the counter keeps its event). Missing counters read as 0 and ignore writes.
 */
#ifndef ETHOSU_PMU_FUNCS_H
#define ETHOSU_PMU_FUNCS_H

#include "ethosu_driver.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Enable the PMU; keeps the NPU powered until ETHOSU_PMU_Disable(). */
void ETHOSU_PMU_Enable(struct ethosu_driver *drv);
void ETHOSU_PMU_Disable(struct ethosu_driver *drv);

/** Select the event of counter `num`. */
void ETHOSU_PMU_Set_EVTYPER(struct ethosu_driver *drv, uint32_t num,
                            enum ethosu_pmu_event_type type);

/** Event of counter `num`; ETHOSU_PMU_SENTINEL if this NPU does not have the event. */
enum ethosu_pmu_event_type ETHOSU_PMU_Get_EVTYPER(struct ethosu_driver *drv, uint32_t num);

/** Number of event counters that every NPU of the system has. */
uint32_t ETHOSU_PMU_Get_NumEventCounters(void);

/** Number of event counters of this NPU (driver 1.99). */
uint32_t ETHOSU_PMU_Get_NumEventCountersForDrv(struct ethosu_driver *drv);

void ETHOSU_PMU_CYCCNT_Reset(struct ethosu_driver *drv);
void ETHOSU_PMU_EVCNTR_ALL_Reset(struct ethosu_driver *drv);

/** Start or stop the counters in a mask; return which ones are running. */
void ETHOSU_PMU_CNTR_Enable(struct ethosu_driver *drv, uint32_t mask);
void ETHOSU_PMU_CNTR_Disable(struct ethosu_driver *drv, uint32_t mask);
uint32_t ETHOSU_PMU_CNTR_Status(struct ethosu_driver *drv);

/** The cycle counter, 48 bits; read consistently while it counts. */
uint64_t ETHOSU_PMU_Get_CCNTR(struct ethosu_driver *drv);
void ETHOSU_PMU_Set_CCNTR(struct ethosu_driver *drv, uint64_t val);

uint32_t ETHOSU_PMU_Get_EVCNTR(struct ethosu_driver *drv, uint32_t num);
void ETHOSU_PMU_Set_EVCNTR(struct ethosu_driver *drv, uint32_t num, uint32_t val);

/** Overflowed counters; Set clears those in the mask. */
uint32_t ETHOSU_PMU_Get_CNTR_OVS(struct ethosu_driver *drv);
void ETHOSU_PMU_Set_CNTR_OVS(struct ethosu_driver *drv, uint32_t mask);

/** Overflow interrupts; the interrupt handler disables them when one occurs. */
void ETHOSU_PMU_Set_CNTR_IRQ_Enable(struct ethosu_driver *drv, uint32_t mask);
void ETHOSU_PMU_Set_CNTR_IRQ_Disable(struct ethosu_driver *drv, uint32_t mask);
uint32_t ETHOSU_PMU_Get_IRQ_Enable(struct ethosu_driver *drv);

/** Increment the counters in a mask. */
void ETHOSU_PMU_CNTR_Increment(struct ethosu_driver *drv, uint32_t mask);

/** Events that start and stop the cycle counter; free-running with ETHOSU_PMU_NO_EVENT. */
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
