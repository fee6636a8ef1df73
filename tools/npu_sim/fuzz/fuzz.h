// SPDX-License-Identifier: MIT
/** What the command stream target and its mutator agree on. */
#ifndef FUZZ_H
#define FUZZ_H

#include "../npu_sim.h"

/** Name of the config that the first byte of an input chooses. */
static inline const char *fuzz_config(uint8_t choice)
{
    unsigned count = 0;
    while (npu_configs()[count] != NULL) {
        count++;
    }
    return npu_configs()[choice % count];
}

#endif
