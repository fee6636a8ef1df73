// SPDX-License-Identifier: MIT
/** Bounded reader of ExecuTorch programs; see program.h. */
#include "program.h"

#include <stddef.h>
#include <string.h>

#include "checked.h"

/** Fields of the schema's tables, by number. */
enum program_field {
    PROGRAM_METHODS = 1,
    PROGRAM_INLINE_DATA = 3,
    PROGRAM_SEGMENTS = 4,
    PROGRAM_CONSTANT_SEGMENT = 5,
    PROGRAM_MUTABLE_SEGMENTS = 6,
    PROGRAM_NAMED_DATA = 7
};
enum method_field {
    METHOD_NAME = 0,
    METHOD_VALUES = 2,
    METHOD_INPUTS = 3,
    METHOD_OUTPUTS = 4,
    METHOD_CHAINS = 5,
    METHOD_OPERATORS = 6,
    METHOD_DELEGATES = 7,
    METHOD_BUFFER_SIZES = 8
};
enum union_field { UNION_TYPE = 0, UNION_TABLE = 1 };
enum chain_field { CHAIN_INSTRUCTIONS = 2 };
enum call_field { CALL_INDEX = 0, CALL_ARGUMENTS = 1 };
enum scalar_field { SCALAR_VALUE = 0 };
enum tensor_field {
    TENSOR_TYPE = 0,
    TENSOR_STORAGE_OFFSET = 1,
    TENSOR_SIZES = 2,
    TENSOR_ORDER = 3,
    TENSOR_DATA = 5,
    TENSOR_ALLOCATION = 6,
    TENSOR_DYNAMISM = 8
};
enum allocation_field { ALLOCATION_BUFFER = 0, ALLOCATION_LOW = 1, ALLOCATION_HIGH = 2 };
enum operator_field { OPERATOR_NAME = 0, OPERATOR_OVERLOAD = 1 };
enum delegate_field { DELEGATE_ID = 0, DELEGATE_DATA = 1 };
enum reference_field { REFERENCE_PLACE = 0, REFERENCE_INDEX = 1 };
enum bytes_field { BYTES_DATA = 0 };
enum bundle_field { BUNDLE_PROGRAM = 2 };
enum segment_field { SEGMENT_OFFSET = 0, SEGMENT_SIZE = 1 };
enum subsegments_field { SUBSEGMENTS_SEGMENT = 0, SUBSEGMENTS_OFFSETS = 1 };
enum named_field { NAMED_KEY = 0, NAMED_SEGMENT = 1 };

/** The extended header: byte offsets in the file. */
enum header {
    HEADER_AT = 8,
    HEADER_LENGTH_AT = 12,
    HEADER_TABLES_SIZE_AT = 16,
    HEADER_SEGMENTS_AT = 24,
    HEADER_LEAST = 24
};

/** Tensor types: ExecuTorch's numbers to ours, plus 1; 0: there is none. */
static const uint8_t types[] = {
    [0] = ETHOSU_TYPE_UINT8 + 1,   [1] = ETHOSU_TYPE_INT8 + 1,    [2] = ETHOSU_TYPE_INT16 + 1,
    [3] = ETHOSU_TYPE_INT32 + 1,   [4] = ETHOSU_TYPE_INT64 + 1,   [5] = ETHOSU_TYPE_FLOAT16 + 1,
    [6] = ETHOSU_TYPE_FLOAT32 + 1, [7] = ETHOSU_TYPE_FLOAT64 + 1, [11] = ETHOSU_TYPE_BOOL + 1,
    [27] = ETHOSU_TYPE_UINT16 + 1, [28] = ETHOSU_TYPE_UINT32 + 1, [29] = ETHOSU_TYPE_UINT64 + 1,
};

/* ---- the file ---- */

static struct program_bytes bytes_of(struct program *program, const struct fb_table *table,
                                     uint32_t field)
{
    struct fb_vector vector = fb_get_vector(&program->fb, table, field, 1);
    return (struct program_bytes){program->fb.data + vector.position, vector.count};
}

/** The extended header says where the tables end and the segments begin. */
static bool read_header(struct program *program)
{
    struct flatbuffer *fb = &program->fb;
    if (fb->size < HEADER_AT + 4 || !fb_is_mark(program->file + HEADER_AT, "eh00")) {
        return true;
    }
    uint32_t length = fb_u32(fb, HEADER_LENGTH_AT);
    uint64_t tables = fb_u64(fb, HEADER_TABLES_SIZE_AT);
    uint64_t segments = fb_u64(fb, HEADER_SEGMENTS_AT);
    if (fb->bad || length < HEADER_LEAST || tables < 8 || tables > program->file_size ||
        segments > program->file_size) {
        fb->bad = true;
        fb->bad_at = HEADER_AT;
        return false;
    }
    fb->size = (uint32_t)tables;
    program->segments_start = (uint32_t)segments;
    return true;
}

/** Bytes of a segment; false: it is not inside the file. */
static bool get_segment(struct program *program, uint32_t index, struct program_bytes *bytes)
{
    struct fb_vector segments = fb_get_vector(&program->fb, &program->root, program->segments, 4);
    struct fb_table table = fb_table_at(&program->fb, &segments, index);
    uint64_t offset = fb_get_u64(&program->fb, &table, SEGMENT_OFFSET, 0);
    uint64_t size = fb_get_u64(&program->fb, &table, SEGMENT_SIZE, 0);
    uint32_t start = program->segments_start;
    if (program->fb.bad || !checked_range(offset, size, program->file_size - start)) {
        return false;
    }
    *bytes = (struct program_bytes){program->file + start + offset, (uint32_t)size};
    return true;
}

void program_begin(struct program *program, const void *file, uint32_t size)
{
    memset(program, 0, offsetof(struct program, last));
    program->fb = (struct flatbuffer){.data = file, .size = size};
    program->file = file;
    program->file_size = size;
    program->segments = PROGRAM_SEGMENTS;
    program->named = PROGRAM_NAMED_DATA;
}

/** A bundled program (.bpte, schema/bundled_program_schema.fbs) holds the program as it is. */
static bool open_bundle(struct program *program)
{
    struct fb_table root = fb_root(&program->fb);
    struct program_bytes held = bytes_of(program, &root, BUNDLE_PROGRAM);
    if (program->fb.bad || held.size < 8 || !fb_is_mark(held.data + 4, "ET12")) {
        return false;
    }
    program->fb = (struct flatbuffer){.data = held.data, .size = held.size};
    program->file = held.data;
    program->file_size = held.size;
    return true;
}

bool program_open(struct program *program, const void *file, uint32_t size)
{
    struct flatbuffer *fb = &program->fb;
    program_begin(program, file, size);
    bool bundle = size >= 8 && fb_is_mark(program->file + 4, "BP08");
    if ((bundle && !open_bundle(program)) || !read_header(program)) {
        return false;
    }
    program->root = fb_root(fb);
    program->methods = fb_get_vector(fb, &program->root, PROGRAM_METHODS, 4);
    return !fb->bad;
}

/* ---- methods ---- */

struct program_bytes program_method_name(struct program *program, uint32_t method)
{
    struct fb_table table = fb_table_at(&program->fb, &program->methods, method);
    return bytes_of(program, &table, METHOD_NAME);
}

uint32_t program_find_method(struct program *program, const char *name, uint32_t length)
{
    for (uint32_t i = 0; i < program->methods.count; i++) {
        struct program_bytes found = program_method_name(program, i);
        if (found.size == length && memcmp(found.data, name, length) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

bool program_choose(struct program *program, uint32_t method)
{
    static const struct {
        uint8_t field;
        uint8_t at; // in the structure
    } rows[] = {
        {METHOD_VALUES, offsetof(struct program, values)},
        {METHOD_INPUTS, offsetof(struct program, inputs)},
        {METHOD_OUTPUTS, offsetof(struct program, outputs)},
        {METHOD_OPERATORS, offsetof(struct program, operators)},
        {METHOD_DELEGATES, offsetof(struct program, delegates)},
        {METHOD_BUFFER_SIZES, offsetof(struct program, buffer_sizes)},
    };
    struct flatbuffer *fb = &program->fb;
    struct fb_table table = fb_table_at(fb, &program->methods, method);
    struct fb_vector chains = fb_get_vector(fb, &table, METHOD_CHAINS, 4);
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        *(struct fb_vector *)((uint8_t *)program + rows[i].at) =
            fb_get_vector(fb, &table, rows[i].field, rows[i].field == METHOD_BUFFER_SIZES ? 8 : 4);
    }
    program->instructions = (struct fb_vector){0};
    program->last_index = 0;
    memset(program->known_index, 0, sizeof program->known_index);
    if (chains.count == 1) {
        struct fb_table chain = fb_table_at(fb, &chains, 0);
        program->instructions = fb_get_vector(fb, &chain, CHAIN_INSTRUCTIONS, 4);
    }
    return !fb->bad && chains.count <= 1;
}

/* ---- values ---- */

enum program_value_type program_get_type(struct program *program, uint32_t index)
{
    struct fb_table table = fb_table_at(&program->fb, &program->values, index);
    return (enum program_value_type)fb_get_u8(&program->fb, &table, UNION_TYPE, 0);
}

bool program_get_value(struct program *program, uint32_t index, struct program_value *value)
{
    struct flatbuffer *fb = &program->fb;
    struct fb_table table = fb_table_at(fb, &program->values, index);
    value->type = (enum program_value_type)fb_get_u8(fb, &table, UNION_TYPE, 0);
    value->table = fb_get_table(fb, &table, UNION_TABLE);
    return !fb->bad;
}

/** A value of 64 bits and this type. */
static bool get_u64(struct program *program, uint32_t index, enum program_value_type type,
                    uint64_t *bits)
{
    struct program_value value;
    if (!program_get_value(program, index, &value) || value.type != type) {
        return false;
    }
    *bits = fb_get_u64(&program->fb, &value.table, SCALAR_VALUE, 0);
    return !program->fb.bad;
}

bool program_get_int(struct program *program, uint32_t index, int64_t *number)
{
    uint64_t bits;
    if (!get_u64(program, index, PROGRAM_INT, &bits)) {
        return false;
    }
    *number = (int64_t)bits;
    return true;
}

bool program_get_bool(struct program *program, uint32_t index, bool *is_true)
{
    struct program_value value;
    if (!program_get_value(program, index, &value) || value.type != PROGRAM_BOOL) {
        return false;
    }
    *is_true = fb_get_u8(&program->fb, &value.table, SCALAR_VALUE, 0) != 0;
    return !program->fb.bad;
}

bool program_get_double(struct program *program, uint32_t index, double *number)
{
    uint64_t bits;
    if (!get_u64(program, index, PROGRAM_DOUBLE, &bits)) {
        return false;
    }
    memcpy(number, &bits, sizeof bits);
    return true;
}

bool program_get_ints(struct program *program, uint32_t index, uint32_t count, int64_t *numbers)
{
    struct program_value value;
    if (!program_get_value(program, index, &value) || value.type != PROGRAM_INT_LIST) {
        return false;
    }
    // Each element is the number of a value.
    struct fb_vector list = fb_get_vector(&program->fb, &value.table, SCALAR_VALUE, 8);
    if (list.count != count) {
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
    struct program_value value;
    if (!program_get_value(program, index, &value) || value.type != PROGRAM_TENSOR_LIST) {
        return false;
    }
    *list = fb_get_vector(&program->fb, &value.table, SCALAR_VALUE, 4);
    return !program->fb.bad;
}

/* ---- tensors ---- */

/** Read shape and order of the dimensions, and count the bytes. */
static bool get_shape(struct flatbuffer *fb, const struct fb_table *table,
                      struct program_tensor *tensor)
{
    struct fb_vector sizes = fb_get_vector(fb, table, TENSOR_SIZES, 4);
    struct fb_vector order = fb_get_vector(fb, table, TENSOR_ORDER, 1);
    uint32_t rank = sizes.count;
    uint32_t seen = 0;
    uint32_t bytes = ethosu_model_type_size(tensor->type);
    bool empty = false;
    if (rank > ETHOSU_MODEL_MAX_RANK || order.count != rank) {
        return false;
    }
    tensor->rank = rank;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t size = fb_known_u32(fb, sizes.position + 4 * i);
        uint32_t axis = fb->data[order.position + i];
        // Strides are products of the other sizes, also where one is 0.
        empty |= size == 0;
        if (!checked_mul(bytes, size == 0 ? 1 : size, &bytes) || bytes > INT32_MAX ||
            axis >= rank) {
            return false;
        }
        tensor->shape[i] = (int32_t)size;
        tensor->order[i] = (uint8_t)axis;
        seen |= 1u << axis;
    }
    tensor->size = empty ? 0 : bytes;
    return seen == (1u << rank) - 1;
}

/**
 * Find the bytes of a constant, or the initial value of a planned tensor: a part of a segment. Of
 * the segments with initial values the runtime of ExecuTorch uses only the first.
 */
static bool find_part(struct program *program, bool planned, uint32_t index,
                      struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    const struct fb_table *root = &program->root;
    struct fb_table table;
    struct program_bytes bytes;
    if (planned) {
        struct fb_vector list = fb_get_vector(fb, root, PROGRAM_MUTABLE_SEGMENTS, 4);
        table = fb_table_at(fb, &list, 0);
    } else {
        table = fb_get_table(fb, root, PROGRAM_CONSTANT_SEGMENT);
    }
    struct fb_vector offsets = fb_get_vector(fb, &table, SUBSEGMENTS_OFFSETS, 8);
    if (index >= offsets.count ||
        !get_segment(program, fb_get_u32(fb, &table, SUBSEGMENTS_SEGMENT, 0), &bytes)) {
        return false;
    }
    uint64_t offset = fb_u64_at(fb, &offsets, index);
    if (!checked_range(offset, tensor->size, bytes.size)) {
        return false;
    }
    tensor->data = bytes.data + offset;
    return true;
}

/** Find the place of a planned tensor. */
static bool find_place(struct program *program, const struct fb_table *allocation,
                       struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    tensor->buffer = fb_get_u32(fb, allocation, ALLOCATION_BUFFER, 0);
    tensor->offset = fb_get_u32(fb, allocation, ALLOCATION_LOW, 0);
    uint32_t high = fb_get_u32(fb, allocation, ALLOCATION_HIGH, 0);
    if (fb->bad || high != 0 || tensor->buffer == 0 ||
        tensor->buffer >= program->buffer_sizes.count ||
        tensor->offset % ethosu_model_type_size(tensor->type) != 0) {
        return false;
    }
    uint64_t size = fb_u64_at(fb, &program->buffer_sizes, tensor->buffer);
    return checked_range(tensor->offset, tensor->size, size);
}

static enum program_tensor_fault read_tensor(struct program *program, uint32_t index,
                                             struct program_tensor *tensor)
{
    struct flatbuffer *fb = &program->fb;
    struct program_value value;
    if (!program_get_value(program, index, &value) || value.type != PROGRAM_TENSOR) {
        return PROGRAM_TENSOR_NONE;
    }
    uint8_t type = fb_get_u8(fb, &value.table, TENSOR_TYPE, 0);
    if (type >= sizeof types || types[type] == 0) {
        return PROGRAM_TENSOR_TYPE;
    }
    if (fb_get_u8(fb, &value.table, TENSOR_DYNAMISM, 0) != 0) {
        return PROGRAM_TENSOR_DYNAMIC;
    }
    tensor->type = types[type] - 1u;
    tensor->data = NULL;
    tensor->buffer = tensor->offset = 0;
    if (fb_get_u32(fb, &value.table, TENSOR_STORAGE_OFFSET, 0) != 0 ||
        !get_shape(fb, &value.table, tensor)) {
        return PROGRAM_TENSOR_SHAPE;
    }
    struct fb_table allocation = fb_get_table(fb, &value.table, TENSOR_ALLOCATION);
    bool planned = allocation.position != 0;
    uint32_t data = fb_get_u32(fb, &value.table, TENSOR_DATA, 0);
    if (data != 0 && !find_part(program, planned, data, tensor)) {
        return PROGRAM_TENSOR_DATA;
    }
    bool placed = planned ? find_place(program, &allocation, tensor) : data != 0;
    return placed && !fb->bad ? PROGRAM_TENSOR_OK : PROGRAM_TENSOR_PLACE;
}

enum program_tensor_fault program_get_tensor(struct program *program, uint32_t index,
                                             struct program_tensor *tensor)
{
    uint32_t place = index % PROGRAM_KNOWN;
    struct program_tensor *known = &program->known[place];
    enum program_tensor_fault fault = PROGRAM_TENSOR_OK;
    if (program->known_index[place] != index + 1 || index == UINT32_MAX) {
        program->known_index[place] = 0;
        fault = read_tensor(program, index, known);
    }
    if (fault == PROGRAM_TENSOR_OK) {
        program->known_index[place] = index + 1;
        *tensor = *known;
    }
    return fault;
}

/* ---- instructions ---- */

bool program_get_instruction(struct program *program, uint32_t index,
                             struct program_instruction *instruction)
{
    struct flatbuffer *fb = &program->fb;
    if (program->last_index != index + 1) {
        struct program_instruction *last = &program->last;
        struct fb_table table = fb_table_at(fb, &program->instructions, index);
        struct fb_table call = fb_get_table(fb, &table, UNION_TABLE);
        last->type = (enum program_instruction_type)fb_get_u8(fb, &table, UNION_TYPE, 0);
        last->index = fb_get_u32(fb, &call, CALL_INDEX, 0);
        last->second = 0;
        last->arguments.count = 0;
        if (last->type <= PROGRAM_DELEGATE_CALL) {
            last->arguments = fb_get_vector(fb, &call, CALL_ARGUMENTS, 4);
        } else {
            last->second = fb_get_u32(fb, &call, CALL_ARGUMENTS, 0);
        }
        program->last_index = fb->bad ? 0 : index + 1;
    }
    *instruction = program->last;
    return !fb->bad;
}

bool program_get_operator(struct program *program, uint32_t index, struct program_bytes *name,
                          struct program_bytes *overload)
{
    struct fb_table table = fb_table_at(&program->fb, &program->operators, index);
    *name = bytes_of(program, &table, OPERATOR_NAME);
    *overload = bytes_of(program, &table, OPERATOR_OVERLOAD);
    return !program->fb.bad;
}

bool program_get_delegate(struct program *program, uint32_t index, struct program_bytes *backend,
                          struct program_bytes *data)
{
    struct flatbuffer *fb = &program->fb;
    struct fb_table table = fb_table_at(fb, &program->delegates, index);
    struct fb_table reference = fb_get_table(fb, &table, DELEGATE_DATA);
    uint32_t number = fb_get_u32(fb, &reference, REFERENCE_INDEX, 0);
    *backend = bytes_of(program, &table, DELEGATE_ID);
    if (fb_get_u8(fb, &reference, REFERENCE_PLACE, 0) == 1) {
        return get_segment(program, number, data) && !fb->bad;
    }
    struct fb_vector list = fb_get_vector(fb, &program->root, PROGRAM_INLINE_DATA, 4);
    struct fb_table held = fb_table_at(fb, &list, number);
    *data = bytes_of(program, &held, BYTES_DATA);
    return !fb->bad;
}

uint32_t program_count_named(struct program *program)
{
    return fb_get_vector(&program->fb, &program->root, program->named, 4).count;
}

bool program_get_named(struct program *program, struct program_bytes name,
                       struct program_bytes *data)
{
    struct flatbuffer *fb = &program->fb;
    struct fb_vector list = fb_get_vector(fb, &program->root, program->named, 4);
    for (uint32_t i = 0; i < list.count && !fb->bad; i++) {
        struct fb_table entry = fb_table_at(fb, &list, i);
        struct program_bytes key = bytes_of(program, &entry, NAMED_KEY);
        if (key.size == name.size && memcmp(key.data, name.data, key.size) == 0) {
            return get_segment(program, fb_get_u32(fb, &entry, NAMED_SEGMENT, 0), data);
        }
    }
    return false;
}
