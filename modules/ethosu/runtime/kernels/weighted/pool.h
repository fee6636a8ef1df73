// SPDX-License-Identifier: MIT
/** The block of AVERAGE_POOL_2D and MAX_POOL_2D. */
#ifndef POOL_H
#define POOL_H

#include "runtime/kernels/weighted/weighted.h"

struct pool {
    struct kernel_call call;
    struct window_2d window;
    const void *input;
    void *output;
    int32_t batches;
    int32_t depth;
    struct range range;
    uint32_t type; /**< enum ethosu_model_type: int8, uint8 or int16 */
    bool average;  /**< else the maximum */
};

#endif
