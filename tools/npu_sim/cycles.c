// SPDX-License-Identifier: MIT
/**
 * Cycles of the MAC array and of the output unit, after the performance
 * estimation of Vela. An estimate: it knows no memory latency, no stalls between
 * the units and no overlap of operations, and was compared with no silicon.
 */
#include "npu_internal.h"
#include "operation.h"
#include "window.h"

enum {
    STEP_CYCLES = 4, /**< one step of the MAC array on one micro block */
    INPUTS_PER_CYCLE = 8,
    TAPS_PER_STEP = 4, /**< depthwise and part-kernel, 8-bit */
    SUB_KERNEL = 8,
    OUTPUT_UNIT = 32,
};

static uint64_t divide_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/** Blocks that the OFM is computed in, and the micro blocks of one of them. */
struct blocks {
    uint64_t count;
    uint64_t plane;         /**< micro blocks across and down */
    uint64_t depth;         /**< micro blocks in depth, per core */
    uint64_t weight_cycles; /**< to bring the weights of one step */
};

static bool count_blocks(struct npu *npu, const struct npu_feature_map *ofm, struct blocks *blocks)
{
    uint64_t height, width, depth;
    if (!npu_get(npu, NPU_SET_OFM_BLK_HEIGHT_M1, &height) ||
        !npu_get(npu, NPU_SET_OFM_BLK_WIDTH_M1, &width) ||
        !npu_get(npu, NPU_SET_OFM_BLK_DEPTH_M1, &depth)) {
        return false;
    }
    const struct npu_microblock *microblock = npu_microblock(npu);
    if (microblock == NULL) {
        return false;
    }
    height = smaller(height + 1, ofm->height);
    width = smaller(width + 1, ofm->width);
    depth = smaller(depth + 1, ofm->depth);
    blocks->count = divide_up(ofm->height, height) * divide_up(ofm->width, width) *
                    divide_up(ofm->depth, depth);
    blocks->plane = divide_up(height, microblock->height) * divide_up(width, microblock->width);
    blocks->depth = divide_up(depth, microblock->depth);
    blocks->weight_cycles = 4u * microblock->depth / npu->product->cores;
    return true;
}

/** Steps over the inputs and taps of one sub-kernel, for one micro block. */
static uint64_t steps_of(const struct npu_work *work, uint64_t taps)
{
    uint64_t words = work->ifm->bits / 8u;
    uint64_t steps = divide_up(taps * words, TAPS_PER_STEP);
    return work->inputs > 1 ? steps * divide_up(work->inputs, INPUTS_PER_CYCLE) : steps;
}

static bool is_depth_first(const struct npu_work *work)
{
    return work->inputs > 1 && !work->window->part_kernel;
}

/** Cycles of one sub-kernel of a depth-first convolution, for one micro block in depth. */
static uint64_t depth_first_cycles(const struct npu *npu, const struct npu_work *work,
                                   const struct blocks *blocks, uint64_t taps)
{
    uint64_t inputs = npu->product->family->step_inputs;
    uint64_t steps = taps * divide_up(work->inputs * (work->ifm->bits / 8u), inputs);
    return larger(blocks->weight_cycles, inputs / INPUTS_PER_CYCLE * blocks->plane) * steps;
}

static uint64_t mac_cycles(const struct npu *npu, const struct npu_work *work,
                           const struct blocks *blocks)
{
    const struct npu_kernel_window *window = work->window;
    uint64_t cycles = 0;
    for (uint32_t y = 0; y < window->kernel_height; y += SUB_KERNEL) {
        for (uint32_t x = 0; x < window->kernel_width; x += SUB_KERNEL) {
            uint64_t taps = smaller(SUB_KERNEL, window->kernel_height - y) *
                            smaller(SUB_KERNEL, window->kernel_width - x);
            if (work->inputs == 0) {
                cycles += larger(STEP_CYCLES, taps) * blocks->plane * (work->ifm->bits / 8u) *
                          npu->product->family->pool_cycles;
            } else if (is_depth_first(work)) {
                cycles += depth_first_cycles(npu, work, blocks, taps);
            } else {
                cycles += larger(blocks->weight_cycles, STEP_CYCLES * blocks->plane) *
                          steps_of(work, taps);
            }
        }
    }
    return cycles * blocks->depth * blocks->count;
}

static uint64_t output_cycles(const struct npu *npu, const struct npu_work *work)
{
    const struct npu_product *product = npu->product;
    uint64_t cost = product->output_32nds[work->output_class];
    if (work->tables) {
        cost = larger(cost, product->table_32nds);
    }
    uint64_t elements = (uint64_t)work->ofm->height * work->ofm->width * work->ofm->depth;
    return divide_up(elements * cost, OUTPUT_UNIT);
}

bool npu_estimate_cycles(struct npu *npu, const struct npu_work *work,
                         struct npu_cycle_estimate *estimate)
{
    struct blocks blocks;
    if (!count_blocks(npu, work->ofm, &blocks)) {
        return false;
    }
    estimate->mac = work->window != NULL ? mac_cycles(npu, work, &blocks) : 0;
    estimate->output = output_cycles(npu, work);
    return true;
}
