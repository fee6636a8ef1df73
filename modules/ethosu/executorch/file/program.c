// SPDX-License-Identifier: MIT
/** Bounded reader of ExecuTorch programs; see program.h. */
#include "executorch/file/program.h"

#include <stddef.h>
#include <string.h>

#include "runtime/file/checked.h"

/*
 * The fields read from each table of the schema, by number, and the structures for the results. A
 * number without a name is the only field, "value", of a value.
 */

static const struct fb_field root_fields[] = {
    FB_WORDS(1), // methods
    FB_WORDS(3), // delegate data that is inline
    FB_WORDS(4), // segments
    FB_TABLE(5), // constant segment
    FB_WORDS(6), // segments with initial values
    FB_WORDS(7), // data by name
    FB_END,
};

static const struct fb_field method_fields[] = {
    FB_WORDS(2), // values
    FB_WORDS(3), // inputs
    FB_WORDS(4), // outputs
    FB_WORDS(5), // chains
    FB_WORDS(6), // operators
    FB_WORDS(7), // delegates
    FB_LONGS(8), // sizes of planned buffers
    FB_END,
};
static const struct fb_field chain_fields[] = {FB_WORDS(2), FB_END};

/** Fields of a call: operator or delegate, and arguments. Other instructions have two numbers. */
static const struct fb_field call_fields[] = {FB_WORD(0), FB_WORDS(1), FB_END};
static const struct fb_field number_fields[] = {FB_WORD(0), FB_WORD(1), FB_END};

static const struct fb_field tensor_fields[] = {
    FB_BYTE(0), FB_WORD(1), FB_WORDS(2), FB_BYTES(3), FB_WORD(5), FB_TABLE(6), FB_BYTE(8), FB_END,
};
struct tensor_table {
    uint32_t type;
    uint32_t storage_offset;
    struct fb_vector sizes;
    struct fb_vector order;
    uint32_t data;
    uint32_t allocation;
    uint32_t dynamism;
};

static const struct fb_field allocation_fields[] = {FB_WORD(0), FB_WORD(1), FB_WORD(2), FB_END};
struct allocation_table {
    uint32_t buffer;
    uint32_t low; /**< 32 bits of the offset */
    uint32_t high;
};

static const struct fb_field delegate_fields[] = {FB_BYTES(0), FB_TABLE(1), FB_END};
struct delegate_table {
    struct fb_vector id;
    uint32_t data;
};

static const struct fb_field reference_fields[] = {FB_BYTE(0), FB_WORD(1), FB_END};
struct reference_table {
    uint32_t in_segment; /**< 1: yes */
    uint32_t index;
};

static const struct fb_field segment_fields[] = {FB_LONG(0), FB_LONG(1), FB_END};
struct segment_table {
    struct fb_long offset;
    struct fb_long size;
};

static const struct fb_field subsegments_fields[] = {FB_WORD(0), FB_LONGS(1), FB_END};
struct subsegments_table {
    uint32_t segment;
    struct fb_vector offsets;
};

static const struct fb_field named_fields[] = {FB_BYTES(0), FB_WORD(1), FB_END};
struct named_table {
    struct fb_vector key;
    uint32_t segment;
};

/** Name of a method or an operator; bytes of inline data. */
static const struct fb_field first_bytes[] = {FB_BYTES(0), FB_END};
static const struct fb_field bundle_fields[] = {FB_BYTES(2), FB_END};

/** Byte offsets of the extended header in the file. */
enum header {
    HEADER_AT = 8,
    HEADER_LENGTH_AT = 12,
    HEADER_TABLES_SIZE_AT = 16,
    HEADER_SEGMENTS_AT = 24,
    HEADER_MIN = 24
};

const uint8_t program_tensor_types[PROGRAM_TENSOR_TYPES] = {
    [0] = ETHOSU_TYPE_UINT8 + 1,   [1] = ETHOSU_TYPE_INT8 + 1,    [2] = ETHOSU_TYPE_INT16 + 1,
    [3] = ETHOSU_TYPE_INT32 + 1,   [4] = ETHOSU_TYPE_INT64 + 1,   [5] = ETHOSU_TYPE_FLOAT16 + 1,
    [6] = ETHOSU_TYPE_FLOAT32 + 1, [7] = ETHOSU_TYPE_FLOAT64 + 1, [11] = ETHOSU_TYPE_BOOL + 1,
    [27] = ETHOSU_TYPE_UINT16 + 1, [28] = ETHOSU_TYPE_UINT32 + 1, [29] = ETHOSU_TYPE_UINT64 + 1,
};

/* ---- the file ---- */

/** Read a field of bytes; empty if absent. */
static struct program_bytes get_bytes(struct program *program, uint32_t table,
                                      const struct fb_field *fields)
{
    struct fb_vector vector;
    fb_read(&program->fb, table, fields, &vector);
    return (struct program_bytes){program->fb.data + vector.position, vector.count};
}

bool program_is_text(struct program_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && fb_same(bytes.data, text, bytes.size);
}

/** Read the extended header, which states the end of the tables and the start of the segments. */
static bool read_header(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    if (fb->size < HEADER_AT + 4 || !fb_is_mark(program->file + HEADER_AT, "eh00")) {
        return true;
    }
    uint32_t length = fb_u32(fb, HEADER_LENGTH_AT);
    uint64_t tables = fb_u64(fb, HEADER_TABLES_SIZE_AT);
    uint64_t segments = fb_u64(fb, HEADER_SEGMENTS_AT);
    if (fb->bad || length < HEADER_MIN || tables < 8 || tables > program->file_size ||
        segments > program->file_size) {
        fb->bad = true;
        fb->bad_at = HEADER_AT;
        return false;
    }
    fb->size = (uint32_t)tables;
    program->segments_start = (uint32_t)segments;
    return true;
}

/** Get the bytes of a segment; false if not inside the file. */
static bool get_segment(struct program *program, uint32_t index, struct program_bytes *bytes)
{
    struct flatbuffer *fb = &program->fb;
    struct segment_table segment;
    const uint32_t start = program->segments_start;
    fb_read(fb, fb_element(fb, &program->root.segments, index), segment_fields, &segment);
    uint32_t offset = segment.offset.low;
    uint32_t size = segment.size.low;
    if (fb->bad || (segment.offset.high | segment.size.high) != 0 ||
        !checked_inside(offset, size, program->file_size - start)) {
        return false;
    }
    *bytes = (struct program_bytes){program->file + start + offset, size};
    return true;
}

void program_begin(struct program *program, const void *file, uint32_t size)
{
    program->fb.data = program->file = file;
    program->fb.size = size;
    program->fb.bad = false;
    program->fb.bad_at = 0;
    program->file_size = size;
    program->segments_start = 0;
}

/** A bundled program (schema/bundled_program_schema.fbs) contains the program unchanged. */
static bool open_bundle(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    struct program_bytes held = get_bytes(program, fb_follow(fb, 0), bundle_fields);
    if (fb->bad || ethosu_file_kind_of(held.data, held.size)->number != ETHOSU_FILE_PROGRAM) {
        return false;
    }
    program_begin(program, held.data, held.size);
    return true;
}

bool program_open(struct program *program, const void *file, uint32_t size)
{
    struct flatbuffer *fb = &program->fb;
    program_begin(program, file, size);
    bool bundle = ethosu_file_kind_of(file, size)->number == ETHOSU_FILE_BUNDLE;
    if ((bundle && !open_bundle(program)) || !read_header(program)) {
        return false;
    }
    fb_read(fb, fb_follow(fb, 0), root_fields, &program->root);
    return !fb->bad;
}

/* ---- methods ---- */

struct program_bytes program_method_name(struct program *program, uint32_t method)
{
    uint32_t table = fb_element(&program->fb, &program->root.methods, method);
    return get_bytes(program, table, first_bytes);
}

uint32_t program_find_method(struct program *program, const char *name)
{
    uint32_t method = 0;
    while (method < program->root.methods.count &&
           !program_is_text(program_method_name(program, method), name)) {
        method++;
    }
    return method < program->root.methods.count ? method : UINT32_MAX;
}

bool program_choose(struct program *program, uint32_t method)
{
    struct flatbuffer *fb = &program->fb;
    fb_read(fb, fb_element(fb, &program->root.methods, method), method_fields, &program->method);
    memset(&program->known, 0, offsetof(struct program_known, tensors));
    const struct fb_vector *chains = &program->method.chains;
    uint32_t chain = chains->count == 1 ? fb_element(fb, chains, 0) : 0;
    fb_read(fb, chain, chain_fields, &program->instructions);
    return !fb->bad && chains->count <= 1;
}

/* ---- values ---- */

enum program_value_type program_get_type(struct program *program, uint32_t index)
{
    return (enum program_value_type)fb_union_at(&program->fb, &program->method.values, index).type;
}

bool program_get_value(struct program *program, uint32_t index, enum program_value_type type,
                       struct fb_field field, void *result)
{
    struct fb_union value = fb_union_at(&program->fb, &program->method.values, index);
    const struct fb_field fields[] = {field, FB_END};
    if (value.type != type) {
        return false;
    }
    fb_read(&program->fb, value.table, fields, result);
    return !program->fb.bad;
}

bool program_get_int(struct program *program, uint32_t index, int64_t *number)
{
    struct fb_long bits;
    if (!program_get_value(program, index, PROGRAM_INT, (struct fb_field)FB_LONG(0), &bits)) {
        return false;
    }
    *number = (int64_t)fb_long_value(bits);
    return true;
}

bool program_get_bool(struct program *program, uint32_t index, bool *is_true)
{
    uint32_t byte;
    if (!program_get_value(program, index, PROGRAM_BOOL, (struct fb_field)FB_BYTE(0), &byte)) {
        return false;
    }
    *is_true = byte != 0;
    return true;
}

bool program_get_double(struct program *program, uint32_t index, double *number)
{
    struct fb_long words;
    if (!program_get_value(program, index, PROGRAM_DOUBLE, (struct fb_field)FB_LONG(0), &words)) {
        return false;
    }
    uint64_t bits = fb_long_value(words);
    memcpy(number, &bits, sizeof bits);
    return true;
}

bool program_get_ints(struct program *program, uint32_t index, uint32_t count, int64_t *numbers)
{
    struct fb_vector list; // each element is the number of a value
    if (!program_get_value(program, index, PROGRAM_INT_LIST, (struct fb_field)FB_LONGS(0), &list) ||
        list.count != count) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t element = fb_u64_at(&program->fb, &list, i);
        if (element > UINT32_MAX || !program_get_int(program, (uint32_t)element, &numbers[i])) {
            return false;
        }
    }
    return true;
}

bool program_get_tensors(struct program *program, uint32_t index, struct fb_vector *list)
{
    return program_get_value(program, index, PROGRAM_TENSOR_LIST, (struct fb_field)FB_WORDS(0),
                             list);
}

/* ---- tensors ---- */

/** Read shape and order of the dimensions, and compute the size in bytes. */
static __attribute__((noinline)) bool
get_shape(const uint8_t *data, const struct tensor_table *table, struct program_tensor *tensor)
{
    const uint8_t *sizes = data + table->sizes.position;
    const uint8_t *order = data + table->order.position;
    const uint32_t rank = table->sizes.count;
    uint32_t bytes = ethosu_model_type_size(tensor->type);
    uint32_t least = UINT32_MAX;
    uint32_t seen = 0;
    tensor->rank = rank;
    if (rank > ETHOSU_MODEL_MAX_RANK || table->order.count != rank) {
        return false;
    }
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t size = fb_word(sizes + 4 * i);
        uint32_t axis = order[i];
        tensor->shape[i] = (int32_t)size;
        tensor->order[i] = (uint8_t)axis;
        least = size < least ? size : least;
        // Strides are products of the other sizes, even if one is 0.
        if (axis >= rank || (size > 1 && !checked_mul(bytes, size, &bytes))) {
            return false;
        }
        seen |= 1u << axis;
    }
    tensor->size = least == 0 ? 0 : bytes;
    return bytes <= INT32_MAX && seen == (1u << rank) - 1;
}

/**
 * Find the bytes of a constant, or the initial value of a planned tensor, in a segment.
 * ExecuTorch's runtime uses only the first of the segments with initial values.
 */
static bool find_part(struct program *program, bool planned, uint32_t index,
                      struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    struct subsegments_table parts;
    struct program_bytes bytes;
    uint32_t table = planned ? fb_element(fb, &program->root.mutables, 0) : program->root.constants;
    fb_read(fb, table, subsegments_fields, &parts);
    if (index >= parts.offsets.count || !get_segment(program, parts.segment, &bytes)) {
        return false;
    }
    uint64_t offset = fb_u64_at(fb, &parts.offsets, index);
    if (!checked_range(offset, tensor->size, bytes.size)) {
        return false;
    }
    tensor->data = bytes.data + offset;
    return true;
}

/** Find the place of a planned tensor. */
static bool find_place(struct program *program, uint32_t table, struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    struct allocation_table place;
    fb_read(fb, table, allocation_fields, &place);
    tensor->buffer = place.buffer;
    tensor->offset = place.low;
    if (fb->bad || place.high != 0 || place.buffer == 0 ||
        place.buffer >= program->method.buffer_sizes.count ||
        (place.low & (ethosu_model_type_size(tensor->type) - 1)) != 0) {
        return false;
    }
    uint64_t size = fb_u64_at(fb, &program->method.buffer_sizes, place.buffer);
    return checked_range(place.low, tensor->size, size);
}

static enum program_tensor_fault read_tensor(struct program *program, uint32_t index,
                                             struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    struct tensor_table table;
    struct fb_union value = fb_union_at(&program->fb, &program->method.values, index);
    if (value.type != PROGRAM_TENSOR) {
        return value.type == PROGRAM_TENSOR_LIST ? PROGRAM_TENSOR_MANY : PROGRAM_TENSOR_NONE;
    }
    fb_read(fb, value.table, tensor_fields, &table);
    if (fb->bad) {
        return PROGRAM_TENSOR_NONE;
    }
    if (table.type >= PROGRAM_TENSOR_TYPES || program_tensor_types[table.type] == 0) {
        return PROGRAM_TENSOR_TYPE;
    }
    if (table.dynamism != 0) {
        return PROGRAM_TENSOR_DYNAMIC;
    }
    tensor->type = program_tensor_types[table.type] - 1u;
    tensor->data = NULL;
    tensor->buffer = tensor->offset = 0;
    if (table.storage_offset != 0 || !get_shape(fb->data, &table, tensor)) {
        return PROGRAM_TENSOR_SHAPE;
    }
    bool planned = table.allocation != 0;
    if (table.data != 0 && !find_part(program, planned, table.data, tensor)) {
        return PROGRAM_TENSOR_DATA;
    }
    bool placed = planned ? find_place(program, table.allocation, tensor) : table.data != 0;
    return placed && !fb->bad ? PROGRAM_TENSOR_OK : PROGRAM_TENSOR_PLACE;
}

enum program_tensor_fault program_get_tensor(struct program *program, uint32_t index,
                                             const struct program_tensor **tensor)
{
    uint32_t place = index % PROGRAM_KNOWN_TENSORS;
    struct program_known *known = &program->known;
    enum program_tensor_fault fault = PROGRAM_TENSOR_OK;
    *tensor = &known->tensors[place];
    if (known->values[place] != index + 1 || index == UINT32_MAX) {
        fault = read_tensor(program, index, &known->tensors[place]);
        known->values[place] = fault == PROGRAM_TENSOR_OK ? index + 1 : 0;
    }
    return fault;
}

/* ---- instructions ---- */

struct program_instruction *program_get_instruction(struct program *program, uint32_t index)
{
    uint32_t place = index % PROGRAM_KNOWN_CALLS;
    struct program_known *known = &program->known;
    struct program_instruction *call = &known->calls[place];
    if (known->instructions[place] != index + 1 || index == UINT32_MAX) {
        struct fb_union member = fb_union_at(&program->fb, &program->instructions, index);
        bool calls = member.type == PROGRAM_KERNEL_CALL || member.type == PROGRAM_DELEGATE_CALL;
        call->type = member.type;
        call->row = call->arguments.count = 0;
        fb_read(&program->fb, member.table, calls ? call_fields : number_fields,
                calls ? &call->index : &call->first);
        known->instructions[place] = program->fb.bad ? 0 : index + 1;
    }
    return program->fb.bad ? NULL : call;
}

bool program_get_operator(struct program *program, uint32_t index, struct program_bytes *name)
{
    uint32_t table = fb_element(&program->fb, &program->method.operators, index);
    *name = get_bytes(program, table, first_bytes);
    return !program->fb.bad;
}

bool program_get_delegate(struct program *program, uint32_t index, struct program_bytes *backend,
                          struct program_bytes *data)
{
    struct flatbuffer *fb = &program->fb;
    struct delegate_table delegate;
    struct reference_table reference;
    fb_read(fb, fb_element(fb, &program->method.delegates, index), delegate_fields, &delegate);
    fb_read(fb, delegate.data, reference_fields, &reference);
    *backend = (struct program_bytes){fb->data + delegate.id.position, delegate.id.count};
    if (reference.in_segment == 1) {
        return get_segment(program, reference.index, data);
    }
    *data = get_bytes(program, fb_element(fb, &program->root.inline_data, reference.index),
                      first_bytes);
    return !fb->bad;
}

bool program_get_entry(struct program *program, uint32_t index, struct program_bytes *name,
                       struct program_bytes *data)
{
    struct flatbuffer *fb = &program->fb;
    struct named_table entry;
    fb_read(fb, fb_element(fb, &program->root.named, index), named_fields, &entry);
    *name = (struct program_bytes){fb->data + entry.key.position, entry.key.count};
    return !fb->bad && get_segment(program, entry.segment, data);
}

bool program_get_named(struct program *program, struct program_bytes name,
                       struct program_bytes *data)
{
    struct flatbuffer *fb = &program->fb;
    for (uint32_t i = 0; i < program->root.named.count && !fb->bad; i++) {
        struct named_table entry;
        fb_read(fb, fb_element(fb, &program->root.named, i), named_fields, &entry);
        if (entry.key.count == name.size &&
            fb_same(fb->data + entry.key.position, name.data, name.size)) {
            return get_segment(program, entry.segment, data);
        }
    }
    return false;
}
