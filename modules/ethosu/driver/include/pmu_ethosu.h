// SPDX-License-Identifier: MIT
/** Performance counters under the header's name of Arm's driver 1.0. */
#ifndef PMU_ETHOSU_H
#define PMU_ETHOSU_H

#include "ethosu_pmu_funcs.h"

#endif
