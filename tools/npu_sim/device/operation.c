// SPDX-License-Identifier: MIT
/** Steps common to all operations: decode, execute, report. */
#include "operands/operation.h"

#include <assert.h>
#include <string.h>

#include "core/npu_internal.h"
#include "device/device.h"
#include "memory/feature_map.h"
#include "memory/memory.h"
#include "time/memo.h"

void npu_count_commands(struct npu *npu, bool all)
{
    struct npu_run *run = &npu->run;
    uint32_t beat = npu->product->family->axi_bytes;
    uint32_t bytes = run->fetched - (all ? 0 : run->fetched % beat);
    run->fetched -= bytes;
    npu_pmu_count_axi(npu, run->port[run->qconfig], NPU_READ_COMMAND, bytes);
}

/* --- Decode --------------------------------------------------------------- */

/** Rows of a chaining buffer are contiguous. */
static void lay_out_chain(struct npu_feature_map *map)
{
    if (map->chained) {
        map->width0 = map->width;
        map->height0 = map->height;
        map->stride_x = (int64_t)map->depth * (map->bits / 8);
        map->stride_y = map->width * map->stride_x;
    }
}

/** A chaining buffer must have been written by an earlier operation before it is read. */
static bool check_chain(struct npu *npu, const struct npu_op *op, const struct npu_feature_map *map)
{
    const struct npu_feature_map *ofm = &op->output.map;
    if (!map->used || !map->chained) {
        return true;
    }
    if (ofm->used && ofm->chained && ofm->region == map->region) {
        return npu_fail(npu, NPU_FAULT_PARSE, "reads chaining buffer %u, which it also writes",
                        map->region);
    }
    const struct npu_chain *chain = &npu->run.chain[map->region];
    size_t elements = (size_t)map->height * map->width * map->depth;
    if (chain->bits == map->bits && chain->elements >= elements) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE,
                    "reads %zu elements of %u bits from chaining buffer %u, which holds %zu of %u",
                    elements, map->bits, map->region, chain->elements, chain->bits);
}

static bool decode(struct npu *npu, const struct npu_operator *operator, struct npu_op * op)
{
    npu->run.decoding = true;
    bool decoded = operator->decode(npu, op);
    npu->run.decoding = false;
    if (decoded) {
        lay_out_chain(&op->ifm);
        lay_out_chain(&op->ifm2);
        lay_out_chain(&op->output.map);
    }
    return decoded;
}

/* --- Report --------------------------------------------------------------- */

static void count_events(struct npu *npu, const struct npu_op *op)
{
    const struct npu_costs *costs = &npu->run.trace->costs;
    npu_pmu_count(npu, NPU_EVENT_MAC_ACTIVE, costs->mac);
    npu_pmu_count(npu, NPU_EVENT_MAC_DPU_ACTIVE, costs->mac);
    npu_pmu_count(npu, NPU_EVENT_AO_ACTIVE, costs->output);
    if (!npu->product->family->width_events) {
        return;
    }
    npu_pmu_count(npu,
                  op->ifm.bits == 8    ? NPU_EVENT_MAC_ACTIVE_8BIT
                  : op->ifm.bits == 16 ? NPU_EVENT_MAC_ACTIVE_16BIT
                                       : NPU_EVENT_MAC_ACTIVE_32BIT,
                  costs->mac);
    npu_pmu_count(npu,
                  op->output.map.bits == 8 ? NPU_EVENT_AO_ACTIVE_8BIT : NPU_EVENT_AO_ACTIVE_16BIT,
                  costs->output);
}

uint64_t npu_advance_time(struct npu *npu)
{
    uint64_t cycles = npu_elapsed_cycles(npu);
    npu->run.cycles += cycles;
    npu_pmu_count_time(npu, cycles);
    return cycles;
}

/** What is the same whenever these registers are used. */
static void describe(struct npu *npu, struct npu_memo *memo)
{
    struct npu_operation *trace = &memo->trace;
    const struct npu_op *op = &memo->op;
    const struct npu_kernel *kernel = &op->kernel;
    trace->ofm = *npu_output_map(&op->output);
    trace->ifm = op->ifm;
    trace->ifm2 = op->ifm2;
    if (kernel->height != 0) {
        trace->kernel_height = (kernel->height - 1) * kernel->dilation_y + 1;
        trace->kernel_width = (kernel->width - 1) * kernel->dilation_x + 1;
        trace->macs = (uint64_t)trace->ofm.height * trace->ofm.width * trace->ofm.depth *
                      kernel->height * kernel->width * op->inputs;
    }
    npu_traffic_of(npu, op, &memo->traffic);
    memo->time = npu_cost_kernel(npu, op, &memo->traffic, &trace->costs);
    for (unsigned i = 0; i < memo->traffic.count; i++) {
        const struct npu_flow *flow = &memo->traffic.flow[i];
        npu_trace_bytes(npu, flow->channel, flow->region, flow->bytes);
    }
}

static void begin_trace(struct npu *npu, struct npu_memo *memo)
{
    struct npu_run *run = &npu->run;
    struct npu_operation *trace = run->trace = &memo->trace;
    if (!memo->valid || memo->op.block.depth == 0) {
        *trace = (struct npu_operation){.name = npu_command_table[run->row].name,
                                        .param = memo->key.param};
    }
    trace->commands = run->commands;
    trace->index = run->operations;
    trace->command = run->command;
    trace->offset = run->offset;
}

static void report(struct npu *npu, struct npu_memo *memo)
{
    struct npu_run *run = &npu->run;
    if (memo->op.block.depth != 0) {
        if (!memo->valid) {
            describe(npu, memo);
        }
        for (unsigned i = 0; i < memo->traffic.count; i++) {
            const struct npu_flow *flow = &memo->traffic.flow[i];
            npu_pmu_count_axi(npu, npu_region_port(npu, flow->region), flow->channel, flow->bytes);
        }
        npu_time_kernel(npu, &memo->time);
        count_events(npu, &memo->op);
        run->last_ofm = memo->trace.ofm;
    } else {
        npu_time_copy(npu);
    }
    memo->valid = true;
    memo->trace.cycles = npu_advance_time(npu);
    run->operations++;
    npu_count_commands(npu, false);
    if (npu->observer != NULL) {
        npu->observer(npu->observer_context, &memo->trace);
    }
    run->commands = 0;
}

/* --- All ------------------------------------------------------------------ */

static bool execute(struct npu *npu, const struct npu_operator *operator, const struct npu_op * op)
{
    memset(npu->run.mapped, 0, sizeof npu->run.mapped);
    return check_chain(npu, op, &op->ifm) && check_chain(npu, op, &op->ifm2) &&
           npu_output_open(npu, &op->output) && npu_map_open(npu, NPU_READ_IFM, &op->ifm) &&
           npu_map_open(npu, NPU_READ_IFM, &op->ifm2) && operator->execute(npu, op) &&
           npu_output_close(npu, &op->output);
}

bool npu_perform(struct npu *npu, const struct npu_operator *operator, uint32_t param)
{
    struct npu_memo *memo = npu_memo_find(npu, param);
    if (memo == NULL) {
        return false;
    }
    begin_trace(npu, memo);
    if (!memo->valid) {
        memo->op = (struct npu_op){.param = param, .scale = {1, 0}};
    }
    if ((!memo->valid && !decode(npu, operator, & memo->op)) ||
        !execute(npu, operator, & memo->op)) {
        return false;
    }
    report(npu, memo);
    return true;
}
