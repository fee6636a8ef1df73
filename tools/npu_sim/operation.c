// SPDX-License-Identifier: MIT
/**
 * Trace and events of an operation, and what it took: the slowest of four that
 * run side by side, the MAC array, the output unit and the two memory ports.
 */
#include "operation.h"

#include <string.h>

#include "npu_internal.h"
#include "window.h"

enum { OVERHEAD_CYCLES = 64 /**< command decoding and pipeline fill */ };

static uint64_t divide_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit;
}

static uint64_t port_cycles(const struct npu *npu, unsigned port)
{
    uint64_t bytes = 0;
    for (unsigned region = 0; region < NPU_REGION_COUNT; region++) {
        if (npu_region_port(npu, region) == port) {
            bytes += npu->run.trace.read[region] + npu->run.trace.written[region];
        }
    }
    return divide_up(bytes, (uint64_t)npu->product->family->axi_bytes * npu->product->axis[port]);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void count_events(struct npu *npu, const struct npu_work *work, uint64_t mac,
                         uint64_t output)
{
    if (mac > 0) {
        npu_pmu_count(npu, NPU_EVENT_MAC_ACTIVE, mac);
        npu_pmu_count(npu, NPU_EVENT_MAC_DPU_ACTIVE, mac);
    }
    npu_pmu_count(npu, NPU_EVENT_AO_ACTIVE, output);
    if (!npu->product->family->width_events) {
        return;
    }
    npu_pmu_count(npu,
                  work->ifm->bits == 8    ? NPU_EVENT_MAC_ACTIVE_8BIT
                  : work->ifm->bits == 16 ? NPU_EVENT_MAC_ACTIVE_16BIT
                                          : NPU_EVENT_MAC_ACTIVE_32BIT,
                  mac);
    npu_pmu_count(npu, work->ofm->bits == 8 ? NPU_EVENT_AO_ACTIVE_8BIT : NPU_EVENT_AO_ACTIVE_16BIT,
                  output);
}

static void add_cycles(struct npu *npu, uint64_t cycles)
{
    npu->run.cycles += cycles;
    npu_pmu_count(npu, NPU_EVENT_CYCLE, cycles);
    npu_pmu_count(npu, NPU_EVENT_ACTIVE, cycles);
    npu_pmu_count(npu, NPU_EVENT_AXI0 + NPU_AXI_ENABLED_CYCLES, cycles);
    npu_pmu_count(npu, NPU_EVENT_AXI1 + NPU_AXI_ENABLED_CYCLES, cycles);
}

void npu_operation_begin(struct npu *npu, uint32_t param)
{
    struct npu_run *run = &npu->run;
    memset(run->mapped, 0, sizeof run->mapped);
    run->trace = (struct npu_operation){
        .index = run->operations,
        .command = run->command,
        .offset = run->offset,
        .name = npu_command_table[run->row].name,
        .param = param,
    };
}

static void describe(struct npu_operation *trace, const struct npu_work *work)
{
    trace->ofm = *work->ofm;
    trace->ifm = *work->ifm;
    if (work->ifm2 != NULL) {
        trace->ifm2 = *work->ifm2;
    }
    if (work->window != NULL) {
        const struct npu_kernel_window *window = work->window;
        trace->kernel_height = (window->kernel_height - 1) * window->dilation_y + 1;
        trace->kernel_width = (window->kernel_width - 1) * window->dilation_x + 1;
        trace->macs = (uint64_t)work->ofm->height * work->ofm->width * work->ofm->depth *
                      window->kernel_height * window->kernel_width * work->inputs;
    }
}

bool npu_operation_done(struct npu *npu, const struct npu_work *work)
{
    struct npu_operation *trace = &npu->run.trace;
    struct npu_cycle_estimate estimate = {0, 0};
    if (work->ofm != NULL) {
        if (!npu_estimate_cycles(npu, work, &estimate)) {
            return false;
        }
        count_events(npu, work, estimate.mac, estimate.output);
        describe(trace, work);
        npu->run.last_ofm = *work->ofm;
    }
    uint64_t memory = larger(port_cycles(npu, 0), port_cycles(npu, 1));
    trace->cycles = larger(larger(estimate.mac, estimate.output), memory) + OVERHEAD_CYCLES;
    add_cycles(npu, trace->cycles);
    npu->run.operations++;
    if (npu->observer != NULL) {
        npu->observer(npu->observer_context, trace);
    }
    return true;
}
