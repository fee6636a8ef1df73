// SPDX-License-Identifier: MIT
/**
 * libFuzzer's mutator for models: most changes know the format, and give shapes, counts,
 * indices and options values at a boundary. Random bytes seldom get past the first check.
 */
#include "flatbuffer.h"

#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/** Fields of TensorFlow Lite's schema, by number. */
enum {
    MODEL_SUBGRAPHS = 2,
    MODEL_BUFFERS = 4,
    GRAPH_TENSORS = 0,
    GRAPH_OPERATORS = 3,
    TENSOR_SHAPE = 0,
    TENSOR_QUANTIZATION = 4,
    QUANTIZATION_SCALE = 2,
    QUANTIZATION_ZERO_POINT = 3,
    OPERATOR_INPUTS = 1,
    OPERATOR_OUTPUTS = 2,
    OPERATOR_OPTIONS = 4,
    BUFFER_DATA = 0
};

#define MOST_CHANGES 2u
#define MOST_TENSORS 100u
#define MOST_RANK 8u

static uint32_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static uint32_t boundary(uint32_t old)
{
    static const uint32_t fixed[] = {
        0,          1,          2,          3,          4,          7,         8,
        15,         16,         127,        128,        255,        256,       511,
        512,        32767,      32768,      65535,      65536,      65537,     0x00FFFFFF,
        0x3FFFFFFF, 0x40000000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFE, 0xFFFFFFFF};
    switch (draw(8)) {
    case 0:
    case 1:
        return old + 1;
    case 2:
    case 3:
        return old - 1;
    case 4:
        return draw(2) ? old * 2 : old / 2;
    case 5:
        return old ^ 1u << draw(32);
    case 6:
        return draw(4);
    default:
        return fixed[draw(sizeof fixed / sizeof fixed[0])];
    }
}

static void set_word(struct flatbuffer *fb, uint8_t *data, uint32_t position)
{
    if (position == 0 || position > fb->size - 4) {
        return;
    }
    uint32_t value = boundary(fb_u32(fb, position));
    memcpy(data + position, &value, sizeof value);
}

/** An element of a vector of words, or (seldom) its count. */
static void change_vector(struct flatbuffer *fb, uint8_t *data, const struct fb_vector *vector)
{
    if (vector->count == 0 || draw(6) == 0) {
        set_word(fb, data, vector->position < 4 ? 0 : vector->position - 4);
    } else {
        set_word(fb, data, vector->position + 4 * draw(vector->count));
    }
}

/** A scalar of a table, which may be a place of something in the file, too. */
static void change_field(struct flatbuffer *fb, uint8_t *data, const struct fb_table *table)
{
    if (table->position == 0 || table->vtable_size < 6) {
        return;
    }
    uint32_t entry = table->vtable + 4 + 2 * draw((table->vtable_size - 4) / 2);
    uint32_t offset = (uint32_t)fb_u8(fb, entry) | (uint32_t)fb_u8(fb, entry + 1) << 8;
    if (offset == 0) {
        return;
    }
    if (draw(2) == 0) {
        set_word(fb, data, table->position + offset);
    } else if (table->position + offset < fb->size) {
        data[table->position + offset] = (uint8_t)draw(256);
    }
}

static struct fb_table any_of(struct flatbuffer *fb, const struct fb_table *table, uint32_t field)
{
    struct fb_vector vector = fb_get_vector(fb, table, field, 4);
    return vector.count == 0 ? (struct fb_table){0} : fb_table_at(fb, &vector, draw(vector.count));
}

/** Give a dimension another value wherever it is: then the shapes still fit to each other. */
static void change_dimension(struct flatbuffer *fb, uint8_t *data, const struct fb_table *graph)
{
    struct fb_vector tensors = fb_get_vector(fb, graph, GRAPH_TENSORS, 4);
    struct fb_table tensor = any_of(fb, graph, GRAPH_TENSORS);
    struct fb_vector shape = fb_get_vector(fb, &tensor, TENSOR_SHAPE, 4);
    if (shape.count == 0) {
        return;
    }
    uint32_t old = fb_u32_at(fb, &shape, draw(shape.count));
    uint32_t value = boundary(old);
    for (uint32_t i = 0; i < tensors.count && i < MOST_TENSORS; i++) {
        tensor = fb_table_at(fb, &tensors, i);
        shape = fb_get_vector(fb, &tensor, TENSOR_SHAPE, 4);
        for (uint32_t k = 0; k < shape.count && k < MOST_RANK; k++) {
            if (fb_u32_at(fb, &shape, k) == old && draw(8) != 0) {
                memcpy(data + shape.position + 4 * k, &value, sizeof value);
            }
        }
    }
}

static void change_tensor(struct flatbuffer *fb, uint8_t *data, const struct fb_table *graph)
{
    struct fb_table tensor = any_of(fb, graph, GRAPH_TENSORS);
    struct fb_table quantization = fb_get_table(fb, &tensor, TENSOR_QUANTIZATION);
    struct fb_vector vector;
    switch (draw(6)) {
    case 0:
        change_field(fb, data, &tensor);
        return;
    case 1:
        vector = fb_get_vector(fb, &quantization, QUANTIZATION_SCALE, 4);
        break;
    case 2:
        vector = fb_get_vector(fb, &quantization, QUANTIZATION_ZERO_POINT, 8);
        break;
    default:
        vector = fb_get_vector(fb, &tensor, TENSOR_SHAPE, 4);
        break;
    }
    change_vector(fb, data, &vector);
}

static void change_operator(struct flatbuffer *fb, uint8_t *data, const struct fb_table *graph)
{
    struct fb_table node = any_of(fb, graph, GRAPH_OPERATORS);
    struct fb_table options = fb_get_table(fb, &node, OPERATOR_OPTIONS);
    struct fb_vector vector;
    switch (draw(4)) {
    case 0:
        vector = fb_get_vector(fb, &node, OPERATOR_INPUTS, 4);
        break;
    case 1:
        vector = fb_get_vector(fb, &node, OPERATOR_OUTPUTS, 4);
        break;
    default:
        change_field(fb, data, &options);
        return;
    }
    change_vector(fb, data, &vector);
}

/** A word of a constant: of a plan, of offsets, of sizes that an operator takes as data. */
static void change_constant(struct flatbuffer *fb, uint8_t *data, const struct fb_table *model)
{
    struct fb_table buffer = any_of(fb, model, MODEL_BUFFERS);
    struct fb_vector bytes = fb_get_vector(fb, &buffer, BUFFER_DATA, 1);
    struct fb_vector words = {bytes.position, bytes.count / 4};
    change_vector(fb, data, &words);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    state = seed;
    if (size < 16 || draw(8) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    struct flatbuffer fb = {.data = data, .size = (uint32_t)size};
    struct fb_table model = fb_root(&fb);
    for (uint32_t changes = 1 + draw(MOST_CHANGES); changes > 0; changes--) {
        struct fb_table graph = any_of(&fb, &model, MODEL_SUBGRAPHS);
        static void (*const kinds[])(struct flatbuffer *, uint8_t *, const struct fb_table *) = {
            change_operator, change_operator,  change_operator, change_tensor,
            change_tensor,   change_dimension, change_dimension};
        uint32_t kind = draw(8);
        if (kind == 7) {
            change_constant(&fb, data, &model);
        } else {
            kinds[kind](&fb, data, &graph);
        }
    }
    return size;
}
