// SPDX-License-Identifier: MIT
/**
 * CMSIS-NN in place of our own loops, in a build that is given CMSIS_NN_DIR.
 *
 * For each operator: how much scratch it needs, whatever core it is compiled
 * for, and its run, which answers false where CMSIS-NN can't do it or would not
 * give the same bits. Our own loop runs then, in the same scratch.
 */
#ifndef CMSIS_NN_H
#define CMSIS_NN_H

#include "weighted.h"

#ifdef ETHOSU_CMSIS_NN
/** Is part of a kernel's version: such a kernel has another scratch. */
#define CMSIS_NN_VERSION KERNEL_CMSIS_NN
#define CMSIS_NN(name)                                                 \
    uint32_t cmsis_nn_##name##_scratch(const struct weighted_call *p); \
    bool cmsis_nn_##name(const struct weighted_call *p);
#else
#define CMSIS_NN_VERSION 0
#define CMSIS_NN(name)                                                              \
    static inline uint32_t cmsis_nn_##name##_scratch(const struct weighted_call *p) \
    {                                                                               \
        (void)p;                                                                    \
        return 0;                                                                   \
    }                                                                               \
    static inline bool cmsis_nn_##name(const struct weighted_call *p)               \
    {                                                                               \
        (void)p;                                                                    \
        return false;                                                               \
    }
#endif

CMSIS_NN(conv)
CMSIS_NN(depthwise_conv)
CMSIS_NN(fully_connected)
CMSIS_NN(transpose_conv)

#endif
