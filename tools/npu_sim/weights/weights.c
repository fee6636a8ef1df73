// SPDX-License-Identifier: MIT
/** Weights and scales: conversion from the cores' streams to plain order. */
#include "weights/weights.h"

#include <inttypes.h>
#include <string.h>

#include "core/npu_internal.h"
#include "core/op.h"
#include "memory/memory.h"
#include "weights/fwd.h"
#include "weights/mlw.h"
#include "weights/weight_order.h"

enum {
    FWD_ALIGNMENT = 32,
    SHIFT_BITS = 6,
    SYMBOLS_PER_CYCLE = 8,
};

static const uint8_t *map_stream(struct npu *npu, const struct npu_stream *stream,
                                 enum npu_channel channel)
{
    return npu_map(npu, channel, stream->region, stream->offset, stream->bytes);
}

/** Allocate room for all symbols of a stream; ensures that their count fits a size_t. */
static int16_t *get_symbols(struct npu *npu, uint64_t count)
{
    return npu_scratch_get(npu, NPU_BUFFER_SYMBOLS, count, sizeof(int16_t));
}

static bool check_count(struct npu *npu, uint64_t count, uint64_t expected)
{
    if (count == expected) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_WEIGHTS,
                    "has a weight stream of %" PRIu64 " weights, needs %" PRIu64, count, expected);
}

/** Decode the stream of one core and put its weights into plain order. */
static bool load_core(struct npu *npu, const struct npu_order *order, uint32_t core,
                      const uint8_t *stream, size_t bytes, int16_t *out)
{
    uint64_t expected = npu_order_symbols(order, core);
    struct npu_mlw_work *work = npu_scratch_get(npu, NPU_BUFFER_MLW, 1, sizeof *work);
    int16_t *symbols = work == NULL ? NULL : get_symbols(npu, expected);
    if (symbols == NULL) {
        return false;
    }
    size_t count = 0;
    enum npu_mlw_result result =
        npu_mlw_decode(stream, bytes, work, symbols, (size_t)expected, &count);
    if (result != NPU_MLW_OK) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS, "has a weight stream that %s",
                        npu_mlw_text(result));
    }
    if (!check_count(npu, count, expected)) {
        return false;
    }
    npu_order_place(order, core, symbols, out);
    return true;
}

/** Copy the blocks of one core to `own`, contiguously. */
static void gather_core(const struct npu_order *order, uint32_t core, const int16_t *symbols,
                        uint64_t count, int16_t *own)
{
    size_t block = npu_order_block(order);
    for (uint64_t at = 0; at < count; at += block) {
        memcpy(own + at, symbols + at * order->cores + core * block, block * sizeof *own);
    }
}

/** Decode the single stream that interleaves the blocks of all cores. */
static bool load_fast(struct npu *npu, const struct npu_order *order, const uint8_t *stream,
                      size_t bytes, int16_t *out)
{
    uint64_t count = npu_order_symbols(order, 0);
    uint64_t all = count * order->cores;
    int16_t *symbols = get_symbols(npu, all + count);
    if (symbols == NULL) {
        return false;
    }
    size_t needed = npu_fwd_bytes(stream, bytes, all);
    if (needed == 0 || needed > bytes || bytes - needed >= 2 * FWD_ALIGNMENT) {
        return npu_fail(npu, NPU_FAULT_WEIGHTS,
                        "has a fast weight stream of %zu bytes, needs %zu for %" PRIu64
                        " weights%s",
                        bytes, needed, all, needed == 0 ? ": its header is invalid" : "");
    }
    npu_fwd_decode(stream, symbols, (size_t)all);
    for (uint32_t core = 0; core < order->cores; core++) {
        gather_core(order, core, symbols, count, symbols + all);
        npu_order_place(order, core, symbols + all, out);
    }
    return true;
}

static void count_events(struct npu *npu, uint64_t symbols)
{
    uint64_t cycles = (symbols + SYMBOLS_PER_CYCLE - 1) / SYMBOLS_PER_CYCLE;
    npu_pmu_count(npu, NPU_EVENT_WD_ACTIVE, cycles);
    npu_pmu_count(npu, npu->product->family->parse_event, cycles);
}

static bool map_streams(struct npu *npu, const struct npu_weight_streams *from,
                        struct npu_weight_bytes *mapped)
{
    *mapped = (struct npu_weight_bytes){{NULL}, {0}};
    for (uint32_t core = 0; core < NPU_WEIGHT_CORES; core++) {
        const struct npu_stream *stream = &from->streams[core];
        if (stream->bytes == 0) {
            continue;
        }
        mapped->length[core] = stream->bytes;
        mapped->bytes[core] = map_stream(npu, stream, NPU_READ_WEIGHT);
        if (mapped->bytes[core] == NULL) {
            return false;
        }
    }
    return true;
}

static bool decode_all(struct npu *npu, const struct npu_weight_streams *from,
                       const struct npu_weight_bytes *mapped, int16_t *out)
{
    if (from->fast) {
        return load_fast(npu, &from->order, mapped->bytes[0], mapped->length[0], out);
    }
    for (uint32_t core = 0; core < NPU_WEIGHT_CORES; core++) {
        if (mapped->bytes[core] != NULL &&
            !load_core(npu, &from->order, core, mapped->bytes[core], mapped->length[core], out)) {
            return false;
        }
    }
    return true;
}

struct npu_weights *npu_weights_load(struct npu *npu, const struct npu_weight_streams *from)
{
    struct npu_weight_bytes mapped;
    if (!map_streams(npu, from, &mapped)) {
        return NULL;
    }
    count_events(npu, from->symbols);
    struct npu_weights *weights = npu_cache_find(&npu->weights, from->key, &mapped);
    if (weights != NULL) {
        return weights;
    }
    weights = npu_cache_add(&npu->weights, from->key, &mapped, from->count);
    if (weights == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for %zu weights", from->count);
    } else if (!decode_all(npu, from, &mapped, weights->plain)) {
        npu_cache_drop(&npu->weights, weights);
        weights = NULL;
    }
    return weights;
}

/** Bits [first, first + bits) of a record. */
static uint64_t field_of(uint64_t low, uint64_t high, unsigned first, unsigned bits)
{
    uint64_t value = first < 64 ? low >> first : high >> (first - 64);
    if (first > 0 && first < 64) {
        value |= high << (64 - first);
    }
    return value & (((uint64_t)1 << bits) - 1);
}

static struct npu_channel_scale scale_record(const uint8_t *bytes,
                                             const struct npu_scale_layout *layout)
{
    uint64_t low;
    uint16_t high;
    memcpy(&low, bytes, sizeof low);
    memcpy(&high, bytes + sizeof low, sizeof high);
    uint64_t multiplier = field_of(low, high, layout->bias_bits, layout->multiplier_bits);
    return (struct npu_channel_scale){
        .bias = npu_sign_extend(field_of(low, high, 0, layout->bias_bits), layout->bias_bits),
        .scale = {(uint32_t)multiplier,
                  (uint8_t)field_of(low, high, 8u * layout->shift_byte, SHIFT_BITS)},
    };
}

bool npu_scales_map(struct npu *npu, const struct npu_op *op, struct npu_scale_records *records)
{
    const struct npu_scale_streams *from = &op->scales;
    *records = (struct npu_scale_records){{NULL}};
    for (uint32_t core = 0; core < from->count && core < op->output.map.depth; core++) {
        records->records[core] = map_stream(npu, &from->streams[core], NPU_READ_SCALE);
        if (records->records[core] == NULL) {
            return false;
        }
    }
    return true;
}

size_t npu_scales_bytes(const struct npu_op *op, uint32_t core)
{
    const uint32_t step = op->scales.count;
    const uint32_t channels = op->output.map.depth;
    return core < step && core < channels
               ? (size_t)((channels - core + step - 1) / step) * NPU_SCALE_BYTES
               : 0;
}

const struct npu_channel_scale *npu_scales_decode(struct npu *npu, const struct npu_op *op,
                                                  const struct npu_scale_records *records)
{
    const uint32_t channels = op->output.map.depth;
    const uint32_t step = op->scales.count;
    struct npu_channel_scale *scales =
        npu_scratch_get(npu, NPU_BUFFER_SCALES, channels, sizeof *scales);
    if (scales == NULL) {
        return NULL;
    }
    for (uint32_t c = 0; c < channels && step == 0; c++) {
        scales[c] = (struct npu_channel_scale){0, op->scale};
    }
    for (uint32_t core = 0; core < step; core++) {
        const uint8_t *record = records->records[core];
        for (uint32_t c = core; c < channels; c += step, record += NPU_SCALE_BYTES) {
            scales[c] = scale_record(record, op->scales.layout);
        }
    }
    return scales;
}
