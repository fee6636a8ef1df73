// SPDX-License-Identifier: MIT
/**
 * Cycles of the MAC array and of the output unit, after the performance
 * estimation of Vela. An estimate: it knows no memory latency, no stalls between
 * the units and no overlap of operations, and was compared with no silicon.
 */
#include "npu_internal.h"
#include "operation.h"

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

static struct blocks count_blocks(const struct npu *npu, const struct npu_op *op)
{
    const struct npu_feature_map *ofm = npu_output_map(&op->output);
    const struct npu_microblock *unit = &op->block.unit;
    uint64_t height = smaller(op->block.height, ofm->height);
    uint64_t width = smaller(op->block.width, ofm->width);
    uint64_t depth = smaller(op->block.depth, ofm->depth);
    return (struct blocks){
        .count = divide_up(ofm->height, height) * divide_up(ofm->width, width) *
                 divide_up(ofm->depth, depth),
        .plane = divide_up(height, unit->height) * divide_up(width, unit->width),
        .depth = divide_up(depth, unit->depth),
        .weight_cycles = 4u * unit->depth / npu->product->cores,
    };
}

/** Steps over the inputs and taps of one sub-kernel, for one micro block. */
static uint64_t steps_of(const struct npu_op *op, uint64_t taps)
{
    uint64_t words = op->ifm.bits / 8u;
    uint64_t steps = divide_up(taps * words, TAPS_PER_STEP);
    return op->inputs > 1 ? steps * divide_up(op->inputs, INPUTS_PER_CYCLE) : steps;
}

static bool is_depth_first(const struct npu_op *op)
{
    return op->inputs > 1 && !op->kernel.part_kernel;
}

/** Cycles of one sub-kernel of a depth-first convolution, for one micro block in depth. */
static uint64_t depth_first_cycles(const struct npu *npu, const struct npu_op *op,
                                   const struct blocks *blocks, uint64_t taps)
{
    uint64_t inputs = npu->product->family->step_inputs;
    uint64_t steps = taps * divide_up(op->inputs * (op->ifm.bits / 8u), inputs);
    return larger(blocks->weight_cycles, inputs / INPUTS_PER_CYCLE * blocks->plane) * steps;
}

static uint64_t mac_cycles(const struct npu *npu, const struct npu_op *op,
                           const struct blocks *blocks)
{
    const struct npu_kernel *kernel = &op->kernel;
    uint64_t cycles = 0;
    for (uint32_t y = 0; y < kernel->height; y += SUB_KERNEL) {
        for (uint32_t x = 0; x < kernel->width; x += SUB_KERNEL) {
            uint64_t taps =
                smaller(SUB_KERNEL, kernel->height - y) * smaller(SUB_KERNEL, kernel->width - x);
            if (op->inputs == 0) {
                cycles += larger(STEP_CYCLES, taps) * blocks->plane * (op->ifm.bits / 8u) *
                          npu->product->family->pool_cycles;
            } else if (is_depth_first(op)) {
                cycles += depth_first_cycles(npu, op, blocks, taps);
            } else {
                cycles +=
                    larger(blocks->weight_cycles, STEP_CYCLES * blocks->plane) * steps_of(op, taps);
            }
        }
    }
    return cycles * blocks->depth * blocks->count;
}

static uint64_t output_cycles(const struct npu *npu, const struct npu_op *op)
{
    const struct npu_product *product = npu->product;
    const struct npu_feature_map *ofm = npu_output_map(&op->output);
    uint64_t cost = product->output_32nds[op->output_class];
    if (op->output.activation != NPU_ACTIVATION_NONE) {
        cost = larger(cost, product->table_32nds);
    }
    uint64_t elements = (uint64_t)ofm->height * ofm->width * ofm->depth;
    return divide_up(elements * cost, OUTPUT_UNIT);
}

struct npu_cycle_estimate npu_estimate_cycles(const struct npu *npu, const struct npu_op *op)
{
    struct blocks blocks = count_blocks(npu, op);
    return (struct npu_cycle_estimate){
        .mac = op->kernel.height != 0 ? mac_cycles(npu, op, &blocks) : 0,
        .output = output_cycles(npu, op),
    };
}
