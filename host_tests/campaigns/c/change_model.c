// SPDX-License-Identifier: MIT
/**
 * libFuzzer's mutator for models: most changes know the format, and give shapes, counts,
 * indices and options values at a boundary. Random bytes seldom get past the first check.
 */
#include "change_payload.h"
#include "change_table.h"

#include <string.h>

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

#define MOST_TENSORS 100u

/** Give a dimension another value wherever it is: then the shapes still fit to each other. */
static void change_dimension(struct flatbuffer *fb, uint32_t graph)
{
    struct fb_vector tensors = get_vector(fb, graph, GRAPH_TENSORS, 4);
    uint32_t tensor = any_of(fb, graph, GRAPH_TENSORS);
    struct fb_vector shape = get_vector(fb, tensor, TENSOR_SHAPE, 4);
    if (shape.count == 0) {
        return;
    }
    uint32_t old = fb_u32_at(fb, &shape, draw(shape.count));
    uint32_t value = boundary(old);
    for (uint32_t i = 0; i < tensors.count && i < MOST_TENSORS; i++) {
        tensor = fb_element(fb, &tensors, i);
        shape = get_vector(fb, tensor, TENSOR_SHAPE, 4);
        change_sizes(fb, &shape, old, value);
    }
}

static void change_tensor(struct flatbuffer *fb, uint32_t graph)
{
    uint32_t tensor = any_of(fb, graph, GRAPH_TENSORS);
    uint32_t quantization = get_table(fb, tensor, TENSOR_QUANTIZATION);
    struct fb_vector vector;
    switch (draw(6)) {
    case 0:
        change_field(fb, tensor);
        return;
    case 1:
        vector = get_vector(fb, quantization, QUANTIZATION_SCALE, 4);
        break;
    case 2:
        vector = get_vector(fb, quantization, QUANTIZATION_ZERO_POINT, 8);
        break;
    default:
        vector = get_vector(fb, tensor, TENSOR_SHAPE, 4);
        break;
    }
    change_vector(fb, &vector);
}

static void change_operator(struct flatbuffer *fb, uint32_t graph)
{
    uint32_t node = any_of(fb, graph, GRAPH_OPERATORS);
    uint32_t options = get_table(fb, node, OPERATOR_OPTIONS);
    struct fb_vector vector;
    switch (draw(4)) {
    case 0:
        vector = get_vector(fb, node, OPERATOR_INPUTS, 4);
        break;
    case 1:
        vector = get_vector(fb, node, OPERATOR_OUTPUTS, 4);
        break;
    default:
        change_field(fb, options);
        return;
    }
    change_vector(fb, &vector);
}

/** A constant: a payload, or a word of a plan, of offsets, of sizes that an operator takes as data.
 */
static void change_constant(struct flatbuffer *fb, uint32_t model)
{
    uint32_t buffer = any_of(fb, model, MODEL_BUFFERS);
    struct fb_vector bytes = get_vector(fb, buffer, BUFFER_DATA, 1);
    uint8_t *content = (uint8_t *)(uintptr_t)fb->data + bytes.position;
    if (bytes.count >= 8 && memcmp(content, "COP", 3) == 0 && draw(4) != 0) {
        change_payload_in_place(content, bytes.count);
        return;
    }
    struct fb_vector words = {bytes.position, bytes.count / 4};
    change_vector(fb, &words);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    draw_from(seed);
    if (size < 16 || draw(8) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    struct flatbuffer fb = {.data = data, .size = (uint32_t)size};
    uint32_t model = fb_follow(&fb, 0);
    for (uint32_t changes = 1 + draw(MOST_CHANGES); changes > 0; changes--) {
        uint32_t graph = any_of(&fb, model, MODEL_SUBGRAPHS);
        static void (*const kinds[])(struct flatbuffer *, uint32_t) = {
            change_operator, change_operator,  change_operator, change_tensor,
            change_tensor,   change_dimension, change_dimension};
        uint32_t kind = draw(8);
        if (kind == 7) {
            change_constant(&fb, model);
        } else {
            kinds[kind](&fb, graph);
        }
    }
    return size;
}
