// SPDX-License-Identifier: MIT
/**
 * PMU events of all products under the names of Arm's driver, 1.0 and 1.99.
 *
 * Values run from 0 to ETHOSU_PMU_SENTINEL - 1 and are arbitrary; no NPU has all events.
 * ETHOSU_EXT_PMU_* are the hardware numbers, for ethosu_ext_pmu_set_event().
 */
#ifndef ETHOSU_PMU_TYPES_H
#define ETHOSU_PMU_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/** Number of event counters of the product built for, else the maximum. */
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

enum ethosu_pmu_event_type {
#define ETHOSU_EXT_PMU_EVENT(name, number, families) ETHOSU_PMU_##name,
#include "ethosu_pmu_events.def"
#undef ETHOSU_EXT_PMU_EVENT
    ETHOSU_PMU_SENTINEL, /**< not an event */
};

/** Addition: hardware event numbers. */
enum ethosu_ext_pmu_number {
#define ETHOSU_EXT_PMU_EVENT(name, number, families) ETHOSU_EXT_PMU_##name = (number),
#include "ethosu_pmu_events.def"
#undef ETHOSU_EXT_PMU_EVENT
};

#ifdef __cplusplus
}
#endif

#endif
