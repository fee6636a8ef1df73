// SPDX-License-Identifier: MIT
/**
 * Scratch of the operators that CMSIS-NN computes. The sizes are the maximum over
 * all cores, so that the planner (tools/ethosu_tools/compile/plan/kernels.py) does not
 * depend on the core. Source: the *_get_buffer_size() functions of CMSIS-NN 7.0.0.
 */
#if defined(ETHOSU_CMSIS_NN) || defined(ETHOSU_CMSIS_NN_SIZES)
#include "runtime/kernels/weighted/cmsis_nn.h"

/** Channels of a depthwise convolution that CMSIS-NN gathers per block, with MVE. */
#define CHANNEL_BLOCK 124u

/** Inputs that CMSIS-NN gathers per block: positions of the window, and bytes of a vector. */
#define WINDOWS 4u
#define VECTOR 16u

static uint32_t round_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/** Bytes of inputs under several positions of the window. */
static uint32_t gathered_bytes(const struct weighted_call *p, uint32_t depth)
{
    return kernel_bytes(round_up((cmsis_nn_positions(p) * depth) << p->wide, VECTOR), WINDOWS);
}

uint32_t cmsis_nn_conv_scratch(const struct weighted_call *p)
{
    return cmsis_nn_positions(p) == 1 && !p->wide ? 0 : gathered_bytes(p, (uint32_t)p->depth);
}

uint32_t cmsis_nn_depthwise_conv_scratch(const struct weighted_call *p)
{
    if (p->wide) {
        // The additional bytes are for vectors that extend past the last input.
        return p->filters == p->depth ? WINDOWS * cmsis_nn_positions(p) * (uint32_t)p->depth * 2 + 8
                                      : 0;
    }
    if (p->depth == 1 && p->filters > 1) { // by way of CONV_2D, with the weights transposed
        return gathered_bytes(p, 1) + cmsis_nn_positions(p) * (uint32_t)p->filters;
    }
    return p->filters == p->depth ? WINDOWS * CHANNEL_BLOCK * cmsis_nn_positions(p) : 0;
}

uint32_t cmsis_nn_fully_connected_scratch(const struct weighted_call *p)
{
    return p->wide ? 0 : kernel_bytes((uint32_t)p->filters, sizeof(int32_t));
}

uint32_t cmsis_nn_transpose_conv_scratch(const struct weighted_call *p)
{
    const struct window *y = &p->window.y;
    const struct window *x = &p->window.x;
    if (p->wide) {
        return 0;
    }
    if (cmsis_nn_is_reversed(p)) {
        return gathered_bytes(p, (uint32_t)p->depth) +
               cmsis_nn_positions(p) * (uint32_t)(p->depth * p->filters);
    }
    // Sums of the lines that one line of the input contributes to.
    uint32_t stride = (uint32_t)fixed_max(x->stride, y->stride);
    uint32_t width = (uint32_t)((x->output - 1) * x->stride + fixed_max(x->size, (int32_t)stride));
    uint32_t height = (uint32_t)fixed_max(y->size, y->stride);
    uint32_t bytes = kernel_bytes(kernel_bytes(width, height), (uint32_t)p->filters);
    bytes = kernel_bytes(bytes, sizeof(int32_t));
    return bytes <= INT32_MAX
               ? bytes
               : 0; // CMSIS-NN is limited to 31 bits; our own loops compute larger ones
}
#endif
