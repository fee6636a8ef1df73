// SPDX-License-Identifier: MIT
/** Layout of a convolution for arithmetic/dot.h. */
#include "operators/layout.h"

#include <string.h>

#include "core/npu_internal.h"

enum { RUN_MAX = 256 /**< inputs of a run: safe for any 16-bit input */ };

static void add_runs(struct npu_layout *layout, uint32_t ky, uint32_t offset, uint32_t inputs,
                     uint32_t weight)
{
    while (inputs > 0) {
        uint32_t length = inputs < RUN_MAX ? inputs : RUN_MAX;
        layout->runs[layout->run_count++] = (struct npu_input_run){ky, offset, length, weight};
        layout->pairs += npu_divide_up(length, NPU_DOT_PAIR);
        layout->quad_count += npu_divide_up(length, NPU_DOT_QUAD);
        layout->inputs += length;
        offset += length;
        weight += length;
        inputs -= length;
    }
}

bool npu_layout_runs(struct npu *npu, const struct npu_op *op, struct npu_layout *layout)
{
    const struct npu_kernel *kernel = &op->kernel;
    uint32_t depth = op->ifm.depth;
    bool gaps = kernel->dilation_x > 1;
    uint32_t pieces = gaps ? kernel->width : 1;
    size_t inputs = (size_t)(gaps ? 1 : kernel->width) * depth;
    size_t count = (size_t)kernel->height * pieces * npu_divide_up(inputs, RUN_MAX);
    layout->runs =
        npu_scratch_get(npu, NPU_BUFFER_RUNS, count, sizeof *layout->runs + sizeof *layout->dots);
    if (layout->runs == NULL) {
        return false;
    }
    _Static_assert(sizeof *layout->quads == sizeof *layout->dots, "one takes the other's place");
    layout->dots = (struct npu_dot_run *)(void *)(layout->runs + count);
    layout->quads = (struct npu_dot_quads_run *)(void *)(layout->runs + count);
    for (uint32_t ky = 0; ky < kernel->height; ky++) {
        for (uint32_t piece = 0; piece < pieces; piece++) {
            uint32_t offset = piece * kernel->dilation_x * depth;
            uint32_t weight = (ky * kernel->width + piece) * depth;
            add_runs(layout, ky, offset, (uint32_t)inputs, weight);
        }
    }
    return true;
}

/** Zeroed buffer for packed weights; outlives the operation if they are constant. */
static void *get_packed(struct npu *npu, const struct npu_convolution *conv, size_t bytes)
{
    void *packed;
    if (conv->constant != NULL) {
        packed = npu_cache_pack(&npu->weights, conv->constant, bytes);
    } else {
        packed = npu_scratch_get(npu, NPU_BUFFER_PACKED, bytes, 1);
        if (packed != NULL) {
            memset(packed, 0, bytes);
        }
    }
    if (packed == NULL) {
        npu_fail(npu, NPU_FAULT_PARSE, "no host memory for its weights");
    }
    return packed;
}

bool npu_weights_fit_bytes(const int16_t *weights, size_t count)
{
    bool fit = true;
    for (size_t i = 0; i < count && fit; i++) {
        fit = weights[i] == (int8_t)weights[i];
    }
    return fit;
}

bool npu_inputs_fit_quads(const struct npu_feature_map *ifm)
{
    int32_t zero = npu_map_zero_8(ifm);
    return ifm->bits == 8 && zero == (uint8_t)zero;
}

int32_t npu_quads_start(const int16_t *weights, size_t count, int32_t zero)
{
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum -= weights[i] * zero;
    }
    return (int32_t)sum;
}

/** The fastest packing, provided that the weights fit. */
static enum npu_packing best_packing(const struct npu_convolution *conv)
{
    if (conv->constant == NULL) {
        return NPU_PACKED_WORDS;
    }
    if (conv->quick && npu_dot_quads() != NULL && npu_inputs_fit_quads(&conv->op->ifm)) {
        return NPU_PACKED_QUADS;
    }
    return npu_dot_bytes() != NULL && npu_has_one_pixel(conv->op) ? NPU_PACKED_BYTES
                                                                  : NPU_PACKED_WORDS;
}

/** Set what depends on the packing. */
static void set_packing(struct npu_layout *layout, enum npu_packing packing)
{
    bool quads = packing == NPU_PACKED_QUADS;
    size_t inputs = quads ? layout->quad_count * NPU_DOT_QUAD : layout->pairs * NPU_DOT_PAIR;
    size_t size = packing == NPU_PACKED_WORDS ? sizeof(int16_t) : sizeof(int8_t);
    layout->packing = packing;
    layout->brick_bytes = (inputs * size + (quads ? sizeof(int32_t) : 0)) * NPU_DOT_LANES;
}

/** Were the weights packed so, for the same zero point? */
static bool is_packed(const struct npu_convolution *conv, const struct npu_layout *layout)
{
    const struct npu_weights *constant = conv->constant;
    return constant != NULL && constant->packed != NULL && constant->packing == layout->packing &&
           constant->packed_bytes == conv->bricks * layout->brick_bytes &&
           (constant->packing != NPU_PACKED_QUADS ||
            constant->packed_zero == npu_map_zero_8(&conv->op->ifm));
}

/** Interleave the weights of a channel: units of some inputs. */
static void pack_channel(const struct npu_layout *layout, const int16_t *source, size_t unit,
                         int8_t *bytes, int16_t *words)
{
    size_t target = 0;
    for (uint32_t r = 0; r < layout->run_count; r++) {
        const struct npu_input_run *run = &layout->runs[r];
        for (uint32_t i = 0; i < run->inputs; i++) {
            size_t at = target + i / unit * NPU_DOT_LANES * unit + i % unit;
            if (words != NULL) {
                words[at] = source[run->weight + i];
            } else {
                bytes[at] = (int8_t)source[run->weight + i];
            }
        }
        target += npu_divide_up(run->inputs, unit) * NPU_DOT_LANES * unit;
    }
}

bool npu_layout_pack(struct npu *npu, const struct npu_convolution *conv, struct npu_layout *layout)
{
    size_t per_channel = (size_t)npu_kernel_taps(&conv->op->kernel) * conv->op->ifm.depth;
    struct npu_weights *constant = conv->constant;
    set_packing(layout, best_packing(conv));
    bool words = layout->packing == NPU_PACKED_WORDS;
    if (!words && !is_packed(conv, layout)) {
        /* Words stay words: for operations that share them, and if not all weights fit. */
        bool stay = constant->packed != NULL && constant->packing == NPU_PACKED_WORDS;
        words = stay || !npu_weights_fit_bytes(conv->weights, conv->op->weights.count);
        set_packing(layout, words ? NPU_PACKED_WORDS : layout->packing);
    }
    if (is_packed(conv, layout)) {
        layout->packed = constant->packed;
        return true;
    }
    uint8_t *packed = get_packed(npu, conv, conv->bricks * layout->brick_bytes);
    layout->packed = packed;
    if (packed == NULL) {
        return false;
    }
    bool quads = layout->packing == NPU_PACKED_QUADS;
    int32_t zero = quads ? npu_map_zero_8(&conv->op->ifm) : 0;
    size_t unit = quads ? NPU_DOT_QUAD : NPU_DOT_PAIR;
    if (constant != NULL) {
        constant->packing = layout->packing;
        constant->packed_zero = zero;
    }
    for (size_t channel = 0; channel < conv->op->output.map.depth; channel++) {
        const int16_t *source = conv->weights + channel * per_channel;
        size_t lane = channel % NPU_DOT_LANES;
        uint8_t *brick = packed + channel / NPU_DOT_LANES * layout->brick_bytes;
        if (quads) {
            int32_t first = npu_quads_start(source, per_channel, zero);
            memcpy(brick + lane * sizeof first, &first, sizeof first);
            brick += NPU_DOT_LANES * sizeof first;
        }
        pack_channel(layout, source, unit, (int8_t *)brick + lane * unit,
                     words ? (int16_t *)(void *)brick + lane * unit : NULL);
    }
    return true;
}
