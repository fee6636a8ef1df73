// SPDX-License-Identifier: MIT
/** The tables of functions that driver 1.99 reaches through struct ethosu_driver. */
#include "ethosu_pmu_funcs.h"

#define OPERATION(name) .ETHOSU_PMU_##name = ETHOSU_PMU_##name

/** For the families with this number of counters; nothing here refers to their struct
 * ethosu_ext_part. */
#define TABLE(counters)                                         \
    static uint32_t count_of_##counters(void)                   \
    {                                                           \
        return counters;                                        \
    }                                                           \
    static const struct ethosu_pmu_ops ops_##counters = {       \
        .ETHOSU_PMU_Get_NumEventCounters = count_of_##counters, \
        OPERATION(Enable),                                      \
        OPERATION(Disable),                                     \
        OPERATION(Set_EVTYPER),                                 \
        OPERATION(Get_EVTYPER),                                 \
        OPERATION(CYCCNT_Reset),                                \
        OPERATION(EVCNTR_ALL_Reset),                            \
        OPERATION(CNTR_Enable),                                 \
        OPERATION(CNTR_Disable),                                \
        OPERATION(CNTR_Status),                                 \
        OPERATION(Get_CCNTR),                                   \
        OPERATION(Set_CCNTR),                                   \
        OPERATION(Get_EVCNTR),                                  \
        OPERATION(Set_EVCNTR),                                  \
        OPERATION(Get_CNTR_OVS),                                \
        OPERATION(Set_CNTR_OVS),                                \
        OPERATION(Set_CNTR_IRQ_Enable),                         \
        OPERATION(Set_CNTR_IRQ_Disable),                        \
        OPERATION(Get_IRQ_Enable),                              \
        OPERATION(CNTR_Increment),                              \
        OPERATION(PMCCNTR_CFG_Set_Start_Event),                 \
        OPERATION(PMCCNTR_CFG_Set_Stop_Event),                  \
        OPERATION(Get_QREAD),                                   \
        OPERATION(Get_STATUS),                                  \
    };

TABLE(4)
TABLE(8)

const struct ethosu_pmu_desc ethosu_pmu_desc_u55 = {&ops_4};
const struct ethosu_pmu_desc ethosu_pmu_desc_u65 = {&ops_4};
const struct ethosu_pmu_desc ethosu_pmu_desc_u85 = {&ops_8};
