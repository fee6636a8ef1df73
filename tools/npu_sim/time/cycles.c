// SPDX-License-Identifier: MIT
/**
 * Cycles of the MAC array and of the output unit for one block, by the rules of
 * Vela's performance estimation: npu_performance for Ethos-U55 and U65,
 * ethos_u85_performance for U85.
 */
#include "time/cycles.h"

#include "core/npu_internal.h"
#include "core/op.h"

enum {
    STEP_CYCLES = 4, /**< one step of the MAC array on one micro block */
    INPUTS_PER_CYCLE = 8,
    TAPS_PER_STEP = 4, /**< depthwise and part-kernel, 8-bit */
    SUB_KERNEL = 8,
    OUTPUT_UNIT = 32,
    SMALL_ARRAY = 128,   /**< MACs; up to this size wide sums take longer */
    SMALLEST_ARRAY = 32, /**< MACs; at this size all sums do */
    PART_KERNEL_INPUTS = 16,
};

static uint32_t divide_up(uint32_t value, uint32_t unit)
{
    return (value + unit - 1) / unit;
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static bool is_depth_first(const struct npu_op *op)
{
    return op->spans_depth && !op->kernel.part_kernel;
}

/** Input channels that the hardware processes at a time. */
static uint32_t input_depth(const struct npu *npu, const struct npu_op *op)
{
    uint32_t words = op->ifm.bits / 8u;
    uint32_t most = op->spans_depth && op->kernel.part_kernel
                        ? PART_KERNEL_INPUTS
                        : npu->product->family->step_inputs / words;
    uint32_t depth = divide_up(op->ifm.depth, INPUTS_PER_CYCLE) * INPUTS_PER_CYCLE;
    return smaller(depth, most);
}

/** Micro blocks of a block and their common properties. */
struct grid {
    uint64_t plane; /**< across and down */
    bool is_line;   /**< one across, or one down */
    uint64_t depth;
    uint64_t weight_cycles; /**< to load the weights of one step */
    uint32_t inputs;        /**< channels of the IFM at a time */
    uint32_t passes;        /**< over the IFM's channels */
};

static struct grid grid_of(const struct npu *npu, const struct npu_op *op, struct npu_extent block)
{
    struct npu_microblock unit = op->block.unit;
    const struct npu_feature_map *ofm = &op->output.map;
    if (unit.height == 2 && unit.width == 2 && op->inputs != 0 && ofm->height == 1 &&
        ofm->width % 2 == 0 && op->kernel.height == 1 && !npu->product->family->all_cores) {
        unit.height = 1; /* rows of such an OFM are computed with twice the columns */
        unit.width = 4;
    }
    uint32_t inputs = input_depth(npu, op);
    uint32_t rows = divide_up(block.height, unit.height);
    uint32_t columns = divide_up(block.width, unit.width);
    return (struct grid){
        .plane = (uint64_t)rows * columns,
        .is_line = rows == 1 || columns == 1,
        .depth = divide_up(block.depth, unit.depth),
        .weight_cycles = 4u * unit.depth / npu->product->cores,
        .inputs = inputs,
        .passes = op->spans_depth ? divide_up(op->ifm.depth, inputs) : 1,
    };
}

/** Cycles of one sub-kernel's steps in one pass; steps: number of consecutive steps. */
static uint64_t sub_kernel_cycles(const struct npu *npu, const struct npu_op *op,
                                  const struct grid *grid, uint32_t taps, uint32_t *steps)
{
    uint32_t words = op->ifm.bits / 8u;
    if (op->inputs == 0 && !op->spans_depth) {
        words = npu->product->macs_per_cycle == SMALLEST_ARRAY ? 1 : words;
        *steps = 1;
        return larger(STEP_CYCLES, taps) * grid->plane * grid->depth * words *
               npu->product->family->pool_cycles;
    }
    if (is_depth_first(op)) {
        bool by_inputs = npu->product->family->all_cores;
        uint64_t plane = (by_inputs ? grid->inputs / INPUTS_PER_CYCLE : STEP_CYCLES) * grid->plane;
        *steps = taps;
        return larger(grid->weight_cycles, plane) * taps * grid->depth * (by_inputs ? words : 1);
    }
    *steps = divide_up(op->spans_depth ? taps * words : taps, TAPS_PER_STEP);
    uint64_t plane = STEP_CYCLES * grid->plane * (op->spans_depth ? 1 : words);
    uint64_t groups = op->spans_depth ? divide_up(grid->inputs, INPUTS_PER_CYCLE) : 1;
    return larger(grid->weight_cycles, plane) * *steps * grid->depth * groups;
}

/** Cycles until a micro block's sums can be added to; wide: more than 32 bits. */
static uint64_t step_delay(uint32_t macs, bool wide)
{
    if (macs == SMALLEST_ARRAY) {
        return wide ? 7 : 3;
    }
    return wide && macs <= SMALL_ARRAY ? 3 : 2;
}

/** With a single micro block in the plane, each step waits for the previous one's sums. */
static uint64_t delay_cycles(const struct npu *npu, const struct npu_op *op,
                             const struct grid *grid, uint32_t steps)
{
    const uint32_t macs = npu->product->macs_per_cycle;
    const bool wide = op->accumulators.bits > 32;
    const uint64_t delay = step_delay(macs, wide);
    uint64_t waits = 0;
    if (grid->plane == 1) {
        waits = grid->depth == 1 ? steps : (uint64_t)(steps - 1) * grid->depth;
    }
    if (macs == SMALLEST_ARRAY && wide && grid->is_line && grid->depth > 1) {
        waits += grid->depth;
    }
    bool parts = op->spans_depth && op->kernel.part_kernel;
    return delay * waits * (parts ? divide_up(grid->inputs, INPUTS_PER_CYCLE) : 1);
}

uint64_t npu_mac_cycles(const struct npu *npu, const struct npu_op *op, struct npu_extent block)
{
    const struct npu_kernel *kernel = &op->kernel;
    struct grid grid = grid_of(npu, op, block);
    uint64_t cycles = 0;
    for (uint32_t y = 0; y < kernel->height; y += SUB_KERNEL) {
        for (uint32_t x = 0; x < kernel->width; x += SUB_KERNEL) {
            uint32_t taps =
                smaller(SUB_KERNEL, kernel->height - y) * smaller(SUB_KERNEL, kernel->width - x);
            uint32_t steps;
            cycles += sub_kernel_cycles(npu, op, &grid, taps, &steps);
            cycles += delay_cycles(npu, op, &grid, steps);
        }
    }
    return cycles * grid.passes;
}

uint64_t npu_output_cycles(const struct npu *npu, const struct npu_op *op, struct npu_extent block)
{
    const struct npu_product *product = npu->product;
    uint64_t cost = product->output_32nds[op->output_class];
    if (op->output.activation != NPU_ACTIVATION_NONE) {
        cost = larger(cost, product->table_32nds);
    }
    uint64_t elements = (uint64_t)block.height * block.width * block.depth;
    return (elements * cost + OUTPUT_UNIT - 1) / OUTPUT_UNIT;
}

/** Elements of the input under a block, along one axis. */
static uint32_t input_extent(uint32_t block, uint32_t stride, uint32_t taps, uint32_t scale,
                             uint32_t limit)
{
    return smaller(divide_up((block - 1) * stride + smaller(taps, SUB_KERNEL), scale), limit);
}

struct npu_extent npu_input_block(const struct npu *npu, const struct npu_op *op,
                                  struct npu_extent block)
{
    const struct npu_kernel *kernel = &op->kernel;
    if (kernel->height == 0) {
        return block;
    }
    uint32_t scale = kernel->upscale != NPU_UPSCALE_NONE ? 2 : 1;
    return (struct npu_extent){
        input_extent(block.height, kernel->stride_y, kernel->height, scale, op->ifm.height),
        input_extent(block.width, kernel->stride_x, kernel->width, scale, op->ifm.width),
        op->spans_depth ? input_depth(npu, op) : block.depth,
    };
}
