// SPDX-License-Identifier: MIT
/** Definitions shared by the command stream target and its mutator. */
#ifndef FUZZ_H
#define FUZZ_H

#include "npu_sim.h"

/** Name of the config selected by the first byte of an input. */
static inline const char *fuzz_config(uint8_t choice)
{
    unsigned count = 0;
    while (npu_configs()[count] != NULL) {
        count++;
    }
    return npu_configs()[choice % count];
}

#endif
