// SPDX-License-Identifier: MIT
/**
 * Uses CMSIS-NN instead of our own loops, in a build with CMSIS_NN_DIR.
 *
 * There are two functions per operator. One returns the size of its scratch, which
 * is the same for all cores. The other one runs it, and returns false if CMSIS-NN
 * does not support this call or is not bit-exact; our own loop then runs in the
 * same scratch.
 */
#ifndef CMSIS_NN_H
#define CMSIS_NN_H

#include "runtime/kernels/weighted/weighted.h"

// ETHOSU_CMSIS_NN_SIZES alone is for tests without CMSIS-NN's sources: scratch has the sizes for
// CMSIS-NN, but our own loops run.
#if defined(ETHOSU_CMSIS_NN) || defined(ETHOSU_CMSIS_NN_SIZES)
#define CMSIS_NN_SCRATCH(name) uint32_t cmsis_nn_##name##_scratch(const struct weighted_call *p);
#else
#define CMSIS_NN_SCRATCH(name)                                                      \
    static inline uint32_t cmsis_nn_##name##_scratch(const struct weighted_call *p) \
    {                                                                               \
        (void)p;                                                                    \
        return 0;                                                                   \
    }
#endif

#ifdef ETHOSU_CMSIS_NN
#define CMSIS_NN_RUN(name) bool cmsis_nn_##name(const struct weighted_call *p);
#else
#define CMSIS_NN_RUN(name)                                            \
    static inline bool cmsis_nn_##name(const struct weighted_call *p) \
    {                                                                 \
        (void)p;                                                      \
        return false;                                                 \
    }
#endif

#define CMSIS_NN(name)     \
    CMSIS_NN_SCRATCH(name) \
    CMSIS_NN_RUN(name)

CMSIS_NN(conv)
CMSIS_NN(depthwise_conv)
CMSIS_NN(fully_connected)
CMSIS_NN(transpose_conv)

/** Positions in a filter's window. */
static inline uint32_t cmsis_nn_positions(const struct weighted_call *p)
{
    return (uint32_t)(p->window.y.size * p->window.x.size);
}

/** TRANSPOSE_CONV as a convolution of the input stretched to twice its size, filters reversed. */
static inline bool cmsis_nn_is_reversed(const struct weighted_call *p)
{
    return p->window.y.stride <= 2 && p->window.x.stride <= 2 && p->depth > 16;
}

#endif
