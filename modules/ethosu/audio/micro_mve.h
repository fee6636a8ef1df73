// SPDX-License-Identifier: MIT
/** Does the micro frontend use MVE? A build without it is for comparison: ETHOSU_AUDIO_MVE=0. */
#ifndef MICRO_MVE_H
#define MICRO_MVE_H

#ifndef ETHOSU_AUDIO_MVE
#ifdef __ARM_FEATURE_MVE
#define ETHOSU_AUDIO_MVE 1
#else
#define ETHOSU_AUDIO_MVE 0
#endif
#endif

#if ETHOSU_AUDIO_MVE
#include <arm_mve.h>
#endif

#endif
