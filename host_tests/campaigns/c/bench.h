// SPDX-License-Identifier: MIT
/** Runs a command stream on the simulator and watches each access. */
#ifndef BENCH_H
#define BENCH_H

#include "change.h"

#include <stdbool.h>

struct bench_counts {
    uint64_t accesses;
    uint32_t completed;  /**< runs that reached their STOP */
    uint32_t cut_short;  /**< runs that were ended because they took too long */
    uint32_t outside;    /**< runs with an access outside the regions */
    uint32_t unreported; /**< runs that wrote what the verifier does not report as written */
};

/** Make memory for the regions of any changed stream. */
void bench_open(const struct corpus *corpus);

void bench_close(const struct corpus *corpus);

/**
 * Run a stream.
 *
 * @param start, end  what the verifier reports as written of each region
 * @return            false: it made an access that it must not make
 */
bool bench_run(const struct changed *stream, const uint64_t *start, const uint64_t *end,
               struct bench_counts *counts);

#endif
