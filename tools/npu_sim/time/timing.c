// SPDX-License-Identifier: MIT
/**
 * Timing by the rules of Vela's performance estimation, per operation: the slowest of MAC array,
 * output unit, block issue, each memory and each port. In addition to Vela's estimate, this models
 * the real blocks at the edges, the fill before the first block, and two queues instead of one sum.
 */
#include "time/timing.h"

#include "core/npu_internal.h"
#include "core/op.h"
#include "memory/memory.h"
#include "time/cycles.h"
#include "time/memo.h"
#include "time/traffic.h"

enum {
    ISSUE_PARTS = 4, /**< issuing a block takes this fraction of its total time */
    BIAS_BYTES = 10,
    BIAS_FETCH = 256, /**< bytes of scales per fetch */
    RATE_UNIT = 1000,
};

static uint64_t divide_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* --- Memories ---------------------------------------------------------------- */

/** Used if the host sets no memory; always ready. */
static const struct npu_memory ideal = {.millibytes = 0, .burst = 1};

bool npu_set_memories(npu_t *npu, const struct npu_memory *memories, unsigned count)
{
    if (count > NPU_MEMORIES) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (memories[i].millibytes == 0 || memories[i].burst == 0) {
            return false;
        }
        npu->memories[i] = memories[i];
    }
    npu_memo_free(npu);
    npu->memory_count = count;
    return true;
}

/** Number of the memory at an address, or of the one assigned to the region. */
static unsigned find_memory(const struct npu *npu, uint64_t address, int region)
{
    for (unsigned i = 0; i < npu->memory_count; i++) {
        const struct npu_memory *memory = &npu->memories[i];
        if ((region >= 0 && (memory->regions >> region & 1) != 0) ||
            (address >= memory->start && address - memory->start < memory->size)) {
            return i;
        }
    }
    return 0;
}

static unsigned memory_of_region(const struct npu *npu, unsigned region)
{
    return find_memory(npu, npu->run.base[region], (int)region);
}

static const struct npu_memory *memory_at(const struct npu *npu, unsigned index)
{
    return npu->memory_count == 0 ? &ideal : &npu->memories[index];
}

/** Cycles to transfer bytes at a rate in thousandths of a byte per cycle. */
static uint64_t cycles_at(uint64_t rate, uint64_t bytes)
{
    return divide_up(bytes * RATE_UNIT, rate);
}

/** Cycles to transfer bytes of one memory, through a port with this rate. */
static uint64_t transfer(const struct npu_memory *memory, uint64_t port_rate, uint64_t bytes)
{
    uint64_t port = cycles_at(port_rate, bytes);
    return memory->millibytes == 0 ? port : larger(port, cycles_at(memory->millibytes, bytes));
}

/* --- Ports ------------------------------------------------------------------- */

void npu_set_adapter(npu_t *npu, enum npu_port port, const struct npu_adapter *adapter)
{
    struct npu_adapter *set = &npu->adapters[port];
    if (set->millibytes != adapter->millibytes || set->read_latency != adapter->read_latency ||
        set->write_latency != adapter->write_latency) {
        *set = *adapter;
        npu_memo_free(npu);
    }
}

unsigned npu_axi_bytes(const npu_t *npu)
{
    return npu->product->family->axi_bytes;
}

/** Thousandths of a byte per cycle: of all AXI interfaces of the port, behind their adapters. */
static uint64_t port_rate(const struct npu *npu, enum npu_port port)
{
    uint64_t beat = RATE_UNIT * npu_axi_bytes(npu);
    uint64_t limit = npu->adapters[port].millibytes;
    return (limit == 0 ? beat : smaller(beat, limit)) * npu->product->axis[port];
}

/** A memory as the port sees it: responses arrive after its adapter's latency at the earliest. */
static struct npu_memory through(const struct npu *npu, const struct npu_memory *memory,
                                 enum npu_port port)
{
    const struct npu_adapter *adapter = &npu->adapters[port];
    struct npu_memory seen = *memory;
    seen.read_latency = (uint16_t)larger(memory->read_latency, adapter->read_latency);
    seen.write_latency = (uint16_t)larger(memory->write_latency, adapter->write_latency);
    return seen;
}

/** Bytes transferred if runs shorter than a burst are rounded up to whole bursts. */
static uint64_t whole_bursts(const struct npu_memory *memory, uint64_t bytes, uint64_t run)
{
    return run < memory->burst && run != 0 ? divide_up(bytes * memory->burst, run) : bytes;
}

/* --- Costs of a kernel ------------------------------------------------------- */

/** A feature map's contribution to the cycles of each block. */
struct link {
    struct npu_memory memory; /**< as its port sees it */
    uint64_t rate;            /**< of the port */
    uint64_t run;
    uint64_t element;
    bool used;
};

/** Inputs for the cost of blocks. */
struct blocks {
    const struct npu_op *op;
    struct link ifm, ofm;
    uint64_t bias_latency;
};

static struct link link_of(const struct npu *npu, const struct npu_traffic *traffic,
                           enum npu_channel channel, unsigned bits)
{
    struct link link = {.memory = ideal, .rate = RATE_UNIT, .element = bits / 8u};
    for (unsigned i = 0; i < traffic->count && !link.used; i++) {
        const struct npu_flow *flow = &traffic->flow[i];
        if (flow->channel == channel) {
            enum npu_port port = npu_region_port(npu, flow->region);
            link.memory = through(npu, memory_at(npu, memory_of_region(npu, flow->region)), port);
            link.rate = port_rate(npu, port);
            link.run = flow->run;
            link.used = true;
        }
    }
    return link;
}

/** Cycles to transfer a block of a feature map, without latency. */
static uint64_t block_transfer(const struct link *link, struct npu_extent block)
{
    uint64_t bytes = (uint64_t)block.height * block.width * block.depth * link->element;
    return link->used
               ? transfer(&link->memory, link->rate, whole_bursts(&link->memory, bytes, link->run))
               : 0;
}

/** Cycles of one block, by unit. */
struct cost {
    uint64_t mac, output, issue;
    uint64_t load, store; /**< for its part of IFM and OFM, including latency */
};

static struct cost cost_of(const struct npu *npu, const struct blocks *blocks,
                           struct npu_extent block)
{
    const struct npu_op *op = blocks->op;
    struct npu_extent input = npu_input_block(npu, op, block);
    uint64_t read_latency = blocks->ifm.used ? blocks->ifm.memory.read_latency : 0;
    uint64_t write_latency = blocks->ofm.used ? blocks->ofm.memory.write_latency : 0;
    struct cost cost = {
        .mac = npu_mac_cycles(npu, op, block),
        .output = npu_output_cycles(npu, op, block),
        .load = read_latency + block_transfer(&blocks->ifm, input),
        .store = write_latency + block_transfer(&blocks->ofm, block),
    };
    cost.output = larger(cost.output, BIAS_BYTES * block.depth * blocks->bias_latency / BIAS_FETCH);
    cost.issue = (cost.mac + cost.output + cost.load + cost.store) / ISSUE_PARTS;
    return cost;
}

/** Blocks along one axis: whole ones and the remainder. */
struct split {
    uint32_t size[2];
    uint64_t count[2];
};

static struct split split_axis(uint32_t size, uint32_t block)
{
    return (struct split){{(uint32_t)smaller(block, size), size % block},
                          {size / block, size % block != 0}};
}

/** Sum the costs of all blocks in the trace. Returns the time of the sequential ones. */
static uint64_t sum_blocks(const struct npu *npu, const struct blocks *blocks,
                           struct npu_costs *costs)
{
    const struct npu_feature_map *ofm = &blocks->op->output.map;
    const struct npu_block *whole = &blocks->op->block;
    struct split splits[] = {split_axis(ofm->height, whole->height),
                             split_axis(ofm->width, whole->width),
                             split_axis(ofm->depth, whole->depth)};
    uint64_t time = 0;
    for (unsigned i = 0; i < 8; i++) {
        unsigned y = i & 1, x = i >> 1 & 1, z = i >> 2;
        uint64_t count = splits[0].count[y] * splits[1].count[x] * splits[2].count[z];
        if (count == 0) {
            continue;
        }
        struct npu_extent block = {splits[0].size[y], splits[1].size[x], splits[2].size[z]};
        struct cost cost = cost_of(npu, blocks, block);
        costs->mac += cost.mac * count;
        costs->output += cost.output * count;
        costs->issue += cost.issue * count;
        time += larger(larger(cost.mac, cost.output), cost.issue) * count;
    }
    return time;
}

/** Sum the busy cycles of each memory and each port. */
static void sum_flows(const struct npu *npu, const struct npu_traffic *traffic,
                      struct npu_costs *costs)
{
    uint64_t port[2] = {0, 0}, memories[NPU_MEMORIES] = {0};
    for (unsigned i = 0; i < traffic->count; i++) {
        const struct npu_flow *flow = &traffic->flow[i];
        unsigned memory = memory_of_region(npu, flow->region);
        port[npu_region_port(npu, flow->region)] += flow->bytes;
        memories[memory] += whole_bursts(memory_at(npu, memory), flow->bytes, flow->run);
    }
    for (unsigned i = 0; i < 2; i++) {
        costs->port[i] = cycles_at(port_rate(npu, (enum npu_port)i), port[i]);
    }
    for (unsigned i = 0; i < npu->memory_count; i++) {
        costs->memory[i] = cycles_at(npu->memories[i].millibytes, memories[i]);
    }
}

/** Time of the slowest of the parallel units. */
static uint64_t slowest(const struct npu_costs *costs, uint64_t blocks)
{
    uint64_t cycles = larger(blocks, larger(costs->port[0], costs->port[1]));
    for (unsigned i = 0; i < NPU_MEMORIES; i++) {
        cycles = larger(cycles, costs->memory[i]);
    }
    return cycles;
}

/* --- Queues -------------------------------------------------------------------- */

/** End of the operation followed by `left` others; 0 if there are not that many. */
static uint64_t end_before(const struct npu_queue *queue, unsigned left)
{
    return left < NPU_QUEUE && queue->count > left
               ? queue->end[(queue->count - 1 - left) % NPU_QUEUE]
               : 0;
}

static void begin(struct npu *npu, struct npu_queue *queue, uint64_t start, uint64_t end)
{
    queue->end[queue->count % NPU_QUEUE] = end;
    queue->count++;
    npu->run.trace->begin = start;
    npu->run.trace->end = end;
}

static void wait(struct npu *npu, const struct npu_queue *queue, unsigned left)
{
    struct npu_timeline *line = &npu->run.timeline;
    line->now = larger(line->now, end_before(queue, left));
}

void npu_wait_kernels(struct npu *npu, unsigned left)
{
    wait(npu, &npu->run.timeline.kernels, left);
}

void npu_wait_copies(struct npu *npu, unsigned left)
{
    wait(npu, &npu->run.timeline.copies, left);
}

/** Fetch the commands since the last operation. */
static void read_commands(struct npu *npu)
{
    struct npu_run *run = &npu->run;
    const struct npu_memory *memory = memory_at(npu, find_memory(npu, run->qbase, 0));
    uint64_t rate = port_rate(npu, (enum npu_port)run->port[run->qconfig]);
    run->timeline.now += transfer(memory, rate, run->commands);
}

struct npu_kernel_time npu_cost_kernel(const struct npu *npu, const struct npu_op *op,
                                       const struct npu_traffic *traffic, struct npu_costs *costs)
{
    const struct npu_feature_map *ofm = &op->output.map;
    struct npu_extent first = {(uint32_t)smaller(op->block.height, ofm->height),
                               (uint32_t)smaller(op->block.width, ofm->width),
                               (uint32_t)smaller(op->block.depth, ofm->depth)};
    struct blocks blocks = {
        .op = op,
        .ifm = link_of(npu, traffic, NPU_READ_IFM, op->ifm.bits),
        .ofm = link_of(npu, traffic, NPU_WRITE_OFM, ofm->bits),
    };
    struct link scales = link_of(npu, traffic, NPU_READ_SCALE, 8);
    blocks.bias_latency = scales.memory.read_latency;
    uint64_t time = sum_blocks(npu, &blocks, costs);
    sum_flows(npu, traffic, costs);
    struct cost cost = cost_of(npu, &blocks, first);
    uint64_t alone = cost.mac != 0 ? smaller(cost.mac, cost.output) : 0;
    return (struct npu_kernel_time){slowest(costs, time) + alone, cost.load, cost.store};
}

void npu_time_kernel(struct npu *npu, const struct npu_kernel_time *time)
{
    struct npu_timeline *line = &npu->run.timeline;
    read_commands(npu);
    npu_wait_kernels(npu, npu->product->family->kernel_queue - 1u);
    uint64_t free = end_before(&line->kernels, 0);
    bool overlaps = npu_peek(npu, NPU_SET_BLOCKDEP) != 0 && line->now < free;
    uint64_t start = larger(line->now, free - (overlaps ? line->drain : 0));
    uint64_t load = overlaps ? 0 : time->load;
    npu->run.trace->costs.start = load + time->store;
    line->drain = time->store;
    begin(npu, &line->kernels, start, larger(start + load + time->busy, free) + time->store);
}

void npu_time_copy(struct npu *npu)
{
    struct npu_run *run = &npu->run;
    struct npu_operation *trace = run->trace;
    uint64_t cycles = 0;
    read_commands(npu);
    for (unsigned region = 0; region < NPU_REGION_COUNT; region++) {
        if ((trace->read[region] | trace->written[region]) == 0) {
            continue;
        }
        unsigned index = memory_of_region(npu, region);
        enum npu_port port = npu_region_port(npu, region);
        struct npu_memory memory = through(npu, memory_at(npu, index), port);
        uint64_t rate = port_rate(npu, port);
        uint64_t read = transfer(&memory, rate, trace->read[region]);
        uint64_t written = transfer(&memory, rate, trace->written[region]);
        read += read != 0 ? memory.read_latency : 0;
        written += written != 0 ? memory.write_latency : 0;
        trace->costs.memory[index] += npu->memory_count != 0 ? read + written : 0;
        cycles = larger(cycles, larger(read, written));
    }
    trace->costs.copy = cycles;
    if (cycles == 0) { /* a branch: its condition must be available */
        npu_wait_kernels(npu, 0);
        npu_wait_copies(npu, 0);
        trace->begin = trace->end = run->timeline.now;
        return;
    }
    npu_wait_copies(npu, npu->product->family->copy_queue - 1u);
    uint64_t start = larger(run->timeline.now, end_before(&run->timeline.copies, 0));
    begin(npu, &run->timeline.copies, start, start + cycles);
}

uint64_t npu_elapsed_cycles(struct npu *npu)
{
    struct npu_timeline *line = &npu->run.timeline;
    uint64_t end =
        larger(line->now, larger(end_before(&line->kernels, 0), end_before(&line->copies, 0)));
    uint64_t passed = end - smaller(end, line->settled);
    line->settled += passed;
    return passed;
}
