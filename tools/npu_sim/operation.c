// SPDX-License-Identifier: MIT
/** Steps common to all operations: decode, execute, report. */
#include "operation.h"

#include <string.h>

#include "npu_internal.h"
#include "traffic.h"

/* --- Decode --------------------------------------------------------------- */

void *npu_new_decoded(struct npu *npu, struct npu_op *op, size_t bytes)
{
    void *decoded = npu_scratch_get(npu, NPU_BUFFER_DECODED, 1, bytes);
    if (decoded != NULL) {
        memset(decoded, 0, bytes);
    }
    op->decoded = decoded;
    return decoded;
}

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
    if (!decoded) {
        return false;
    }
    lay_out_chain(&op->ifm);
    lay_out_chain(&op->ifm2);
    lay_out_chain(&op->output.map);
    return check_chain(npu, op, &op->ifm) && check_chain(npu, op, &op->ifm2);
}

/* --- Report --------------------------------------------------------------- */

static void count_events(struct npu *npu, const struct npu_op *op)
{
    const struct npu_costs *costs = &npu->run.trace.costs;
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

void npu_advance_time(struct npu *npu)
{
    uint64_t cycles = npu_elapsed_cycles(npu);
    npu->run.cycles += cycles;
    npu->run.trace.cycles = cycles;
    npu_pmu_count(npu, NPU_EVENT_CYCLE, cycles);
    npu_pmu_count(npu, NPU_EVENT_ACTIVE, cycles);
    npu_pmu_count(npu, NPU_EVENT_AXI0 + NPU_AXI_ENABLED_CYCLES, cycles);
    npu_pmu_count(npu, NPU_EVENT_AXI1 + NPU_AXI_ENABLED_CYCLES, cycles);
}

/** Account for the transfers and time of a kernel. */
static void account(struct npu *npu, const struct npu_op *op)
{
    struct npu_traffic traffic;
    npu_traffic_of(npu, op, &traffic);
    for (unsigned i = 0; i < traffic.count; i++) {
        const struct npu_flow *flow = &traffic.flow[i];
        npu_count_bytes(npu, flow->channel, flow->region, flow->bytes);
    }
    npu_time_kernel(npu, op, &traffic);
}

static void begin_trace(struct npu *npu, uint32_t param)
{
    struct npu_run *run = &npu->run;
    run->trace = (struct npu_operation){
        .commands = run->trace.commands,
        .index = run->operations,
        .command = run->command,
        .offset = run->offset,
        .name = npu_command_table[run->row].name,
        .param = param,
    };
}

static void describe(struct npu_operation *trace, const struct npu_op *op)
{
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
}

static void report(struct npu *npu, const struct npu_op *op)
{
    struct npu_operation *trace = &npu->run.trace;
    if (op->block.depth != 0) {
        account(npu, op);
        count_events(npu, op);
        describe(trace, op);
        npu->run.last_ofm = trace->ofm;
    } else {
        npu_time_copy(npu);
    }
    npu_advance_time(npu);
    npu->run.operations++;
    npu_count_commands(npu, false);
    if (npu->observer != NULL) {
        npu->observer(npu->observer_context, trace);
    }
    trace->commands = 0;
}

/* --- All ------------------------------------------------------------------ */

static bool execute(struct npu *npu, const struct npu_operator *operator, const struct npu_op * op)
{
    memset(npu->run.mapped, 0, sizeof npu->run.mapped);
    return npu_output_open(npu, &op->output) && npu_map_open(npu, NPU_READ_IFM, &op->ifm) &&
           npu_map_open(npu, NPU_READ_IFM, &op->ifm2) && operator->execute(npu, op) &&
           npu_output_close(npu, &op->output);
}

bool npu_perform(struct npu *npu, const struct npu_operator *operator, uint32_t param)
{
    struct npu_op op = {.param = param, .scale = {1, 0}};
    begin_trace(npu, param);
    if (!decode(npu, operator, & op) || !execute(npu, operator, & op)) {
        return false;
    }
    report(npu, &op);
    return true;
}
