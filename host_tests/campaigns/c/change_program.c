// SPDX-License-Identifier: MIT
/**
 * libFuzzer's mutator for ExecuTorch programs, with or without a data file behind them: most
 * changes know the format. With DELEGATES they are of delegates alone: their blocks, and the
 * command streams in them.
 */
#define _GNU_SOURCE
#include "change_payload.h"
#include "change_table.h"
#include "executorch/program.h"

#include <string.h>

#ifndef DELEGATES
#define DELEGATES 0
#endif

/** Fields of the schema's tables, by number. */
enum {
    PROGRAM_SEGMENTS = 4,
    PROGRAM_CONSTANTS = 5,
    PROGRAM_NAMED = 7,
    UNION_TYPE = 0,
    UNION_TABLE = 1,
    CALL_ARGUMENTS = 1,
    TENSOR_SIZES = 2,
    TENSOR_ORDER = 3,
    TENSOR_ALLOCATION = 6,
    LIST_ITEMS = 0,
    SUBSEGMENTS_OFFSETS = 1
};

/** Of the extended header, and of a block in a delegate's data. */
enum { HEADER_AT = 8, HEADER_BYTES = 32, BLOCK_HEADER = 32, BLOCK_SIZE_AT = 16 };

#define MOST_VALUES 100u

static uint32_t get_value(struct program *program, uint32_t index, enum program_value_type *type)
{
    uint32_t value = fb_element(&program->fb, &program->method.values, index);
    *type = fb_scalar(&program->fb, value, (struct fb_field)FB_BYTE(UNION_TYPE), 0);
    return get_table(&program->fb, value, UNION_TABLE);
}

static uint32_t any_value(struct program *program, enum program_value_type *type)
{
    const struct fb_vector *values = &program->method.values;
    *type = 0;
    return values->count == 0 ? 0 : get_value(program, draw(values->count), type);
}

static void change_instruction(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    if (program->instructions.count == 0) {
        return;
    }
    uint32_t each = fb_element(fb, &program->instructions, draw(program->instructions.count));
    uint32_t call = get_table(fb, each, UNION_TABLE);
    struct fb_vector arguments = get_vector(fb, call, CALL_ARGUMENTS, 4);
    if (draw(4) != 0) {
        change_vector(fb, &arguments);
    } else {
        change_field(fb, draw(2) ? call : each);
    }
}

static void change_value(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    enum program_value_type type;
    uint32_t value = any_value(program, &type);
    struct fb_vector vector = {0};
    if (type == PROGRAM_TENSOR) {
        uint32_t place = get_table(fb, value, TENSOR_ALLOCATION);
        switch (draw(4)) {
        case 0:
            change_field(fb, place);
            return;
        case 1:
            vector = get_vector(fb, value, TENSOR_ORDER, 1);
            set_word(fb, vector.position);
            return;
        case 2:
            vector = get_vector(fb, value, TENSOR_SIZES, 4);
            break;
        default:
            change_field(fb, value);
            return;
        }
    } else if (type == PROGRAM_INT_LIST || type == PROGRAM_TENSOR_LIST) {
        vector = get_vector(fb, value, LIST_ITEMS, 4);
    } else {
        change_field(fb, value);
        return;
    }
    change_vector(fb, &vector);
}

/** Give a dimension another value wherever it is: then the shapes still fit to each other. */
static void change_dimension(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    enum program_value_type type;
    uint32_t tensor = any_value(program, &type);
    struct fb_vector sizes = get_vector(fb, tensor, TENSOR_SIZES, 4);
    if (type != PROGRAM_TENSOR || sizes.count == 0) {
        return;
    }
    uint32_t old = fb_u32_at(fb, &sizes, draw(sizes.count));
    uint32_t value = boundary(old);
    for (uint32_t i = 0; i < program->method.values.count && i < MOST_VALUES; i++) {
        uint32_t other = get_value(program, i, &type);
        if (type == PROGRAM_TENSOR) {
            sizes = get_vector(fb, other, TENSOR_SIZES, 4);
            change_sizes(fb, &sizes, old, value);
        }
    }
}

static void change_ends(struct program *program)
{
    change_vector(&program->fb, draw(2) ? &program->method.inputs : &program->method.outputs);
}

/** Sizes of planned buffers, segments, where constants lie, the extended header. */
static void change_memory(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    uint32_t root = fb_follow(fb, 0);
    uint32_t table;
    struct fb_vector words;
    switch (draw(5)) {
    case 0:
        set_word(fb, HEADER_AT + 4 * draw(HEADER_BYTES / 4));
        return;
    case 1:
        table = any_of(fb, root, PROGRAM_SEGMENTS);
        change_field(fb, table);
        return;
    case 2:
        table = any_of(fb, root, PROGRAM_NAMED);
        change_field(fb, table);
        return;
    case 3:
        table = get_table(fb, root, PROGRAM_CONSTANTS);
        words = get_vector(fb, table, SUBSEGMENTS_OFFSETS, 8);
        break;
    default:
        words = program->method.buffer_sizes;
        break;
    }
    words.count *= 2; // they have 64 bits
    change_vector(fb, &words);
}

/** A block's name or size, a word of its contents, or (its command stream, too) any of its bytes.
 */
static void change_block(uint8_t *block, uint32_t size)
{
    struct flatbuffer header = {.data = block, .size = BLOCK_HEADER};
    struct flatbuffer content = {.data = block + BLOCK_HEADER, .size = size};
    uint32_t kind = draw(6);
    if (kind == 0) {
        set_word(&header, BLOCK_SIZE_AT + 4 * draw(2));
    } else if (kind == 1 || size < 8) {
        block[draw(BLOCK_HEADER)] = (uint8_t)draw(256);
    } else if (kind == 2) {
        change_payload_in_place(block + BLOCK_HEADER, size);
    } else {
        set_word(&content, 4 * draw(size / 4));
    }
}

static void change_delegate(struct program *program)
{
    struct program_bytes backend;
    struct program_bytes data = {0};
    uint32_t at = 0;
    if (program->method.delegates.count == 0 ||
        !program_get_delegate(program, draw(program->method.delegates.count), &backend, &data)) {
        return;
    }
    for (uint32_t skipped = draw(8); data.size - at > BLOCK_HEADER; skipped--) {
        struct flatbuffer header = {.data = data.data + at, .size = BLOCK_HEADER};
        uint32_t size = fb_u32(&header, BLOCK_SIZE_AT);
        uint32_t left = data.size - at - BLOCK_HEADER;
        size = size > left ? left : size;
        if (skipped == 0) {
            change_block((uint8_t *)(uintptr_t)data.data + at, size);
            return;
        }
        at += BLOCK_HEADER + (size + 15) / 16 * 16;
        at = at > data.size ? data.size : at;
    }
}

/** The data file, if there is one: its header and tables. */
static void change_data(uint8_t *data, size_t size)
{
    static const char identifier[] = "FT01FH01";
    uint8_t *found = memmem(data, size, identifier, sizeof identifier - 1);
    if (found != NULL) {
        struct flatbuffer fb = {.data = found, .size = (uint32_t)(data + size - found)};
        uint32_t tables = fb.size < 512 ? fb.size : 512;
        set_word(&fb, 4 * draw(tables / 4));
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    static void (*const kinds[])(struct program *) = {
        change_instruction, change_instruction, change_value,  change_value,
        change_dimension,   change_ends,        change_memory, change_delegate,
    };
    static struct program program;
    draw_from(seed);
    bool any = !DELEGATES && draw(8) == 0;
    if (any || size < 64 || !program_open(&program, data, (uint32_t)size)) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    program_choose(&program, program.root.methods.count == 0 || draw(8)
                                 ? 0
                                 : draw(program.root.methods.count));
    for (uint32_t changes = 1 + draw(MOST_CHANGES); changes > 0; changes--) {
        program.fb.bad = false; // it was damaged before: then it is read as far as possible
        (DELEGATES ? change_delegate : kinds[draw(sizeof kinds / sizeof kinds[0])])(&program);
        if (draw(16) == 0) {
            change_data(data, size);
        }
    }
    return size;
}
