// SPDX-License-Identifier: MIT
/**
 * Transposed and reversed writes of Ethos-U85: the operation writes into a
 * buffer of the simulator, whose elements are then copied to memory.
 */
#include <string.h>

#include "core/npu_internal.h"
#include "memory/feature_map.h"
#include "operands/output.h"

enum { AXES = 3, TRANSPOSES = 8 };

/** By OFM_PRECISION.transpose: the axis (H 0, W 1, C 2) that becomes H, W and C in memory. */
static const struct transpose {
    bool known;
    uint8_t axis[AXES];
} transposes[TRANSPOSES] = {
    [0] = {true, {0, 1, 2}}, [1] = {true, {1, 0, 2}}, [2] = {true, {0, 2, 1}},
    [3] = {true, {1, 2, 0}}, [6] = {true, {2, 0, 1}}, [7] = {true, {2, 1, 0}},
};

bool npu_decode_arrangement(struct npu *npu, struct npu_output *output)
{
    struct npu_feature_map *map = &output->map;
    const struct transpose *transpose = &transposes[output->transpose];
    output->arranged = map->used && (output->transpose != 0 || output->reverse != 0);
    if (!output->arranged) {
        return true;
    }
    if (!transpose->known || map->chained || (output->transpose != 0 && output->reverse != 0)) {
        return npu_fail(npu, NPU_FAULT_PARSE, "has an OFM of transpose %u and reverse %u%s",
                        (unsigned)output->transpose, (unsigned)output->reverse,
                        map->chained ? " in a chaining buffer" : "");
    }
    const uint32_t sizes[AXES] = {map->height, map->width, map->depth};
    output->target = *map;
    output->target.height = sizes[transpose->axis[0]];
    output->target.width = sizes[transpose->axis[1]];
    output->target.depth = sizes[transpose->axis[2]];
    map->chained = true;
    map->nhcwb16 = false;
    map->region = NPU_ARRANGED;
    memset(map->base, 0, sizeof map->base);
    return true;
}

bool npu_output_open(struct npu *npu, const struct npu_output *output)
{
    return (!output->arranged || npu_map_open(npu, NPU_WRITE_OFM, &output->target)) &&
           npu_map_open(npu, NPU_WRITE_OFM, &output->map);
}

/** Bytes from one element of the buffer to the next, along H, W and C of memory. */
struct walk {
    const uint8_t *start;
    int64_t step[AXES];
};

static struct walk walk_of(const struct npu *npu, const struct npu_output *output)
{
    const struct npu_feature_map *map = &output->map;
    const uint32_t sizes[AXES] = {map->height, map->width, map->depth};
    int64_t steps[AXES] = {map->stride_y, map->stride_x, map->bits / 8};
    struct walk walk = {npu->scratch.memory[NPU_BUFFER_CHAIN0 + NPU_ARRANGED], {0}};
    if (output->reverse != NPU_REVERSE_NONE) {
        unsigned axis = output->reverse - NPU_REVERSE_H;
        walk.start += (int64_t)(sizes[axis] - 1) * steps[axis];
        steps[axis] = -steps[axis];
    }
    for (unsigned i = 0; i < AXES; i++) {
        walk.step[i] = steps[transposes[output->transpose].axis[i]];
    }
    return walk;
}

#define GATHER(source, target_type)                                           \
    for (uint32_t x = 0; x < target->width; x++, start += walk->step[1]) {    \
        const uint8_t *from = start;                                          \
        for (uint32_t c = 0; c < target->depth; c++, from += walk->step[2]) { \
            source element;                                                   \
            memcpy(&element, from, sizeof element);                           \
            const target_type value = element;                                \
            memcpy(out, &value, sizeof value);                                \
            out += sizeof value;                                              \
        }                                                                     \
    }

/** Copy one row of memory: 64-bit elements as they are, others with 32 bits. */
static void gather_row(const struct npu_feature_map *target, const struct walk *walk, uint32_t y,
                       uint8_t *out)
{
    const uint8_t *start = walk->start + y * walk->step[0];
    switch (target->bits) {
    case 8:
        GATHER(uint8_t, uint32_t)
        break;
    case 16:
        GATHER(uint16_t, uint32_t)
        break;
    case 32:
        GATHER(uint32_t, uint32_t)
        break;
    default:
        GATHER(uint64_t, uint64_t)
        break;
    }
}

bool npu_output_close(struct npu *npu, const struct npu_output *output)
{
    if (!output->arranged) {
        return true;
    }
    const struct npu_feature_map *target = &output->target;
    bool wide = target->bits == 64;
    size_t size = wide ? sizeof(int64_t) : sizeof(int32_t);
    struct walk walk = walk_of(npu, output);
    void *row =
        npu_scratch_get(npu, NPU_BUFFER_RESULT, (size_t)target->width * target->depth, size);
    if (row == NULL) {
        return false;
    }
    for (uint32_t y = 0; y < target->height; y++) {
        if (npu_should_abort(npu)) {
            return false;
        }
        gather_row(target, &walk, y, row);
        if (!(wide ? npu_write_pixels_64(npu, target, y, 0, target->width, row)
                   : npu_write_pixels(npu, target, y, 0, target->width, row))) {
            return false;
        }
    }
    return true;
}
