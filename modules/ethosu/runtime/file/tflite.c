// SPDX-License-Identifier: MIT
/** Reads TensorFlow Lite files; see tflite.h. */
#include "runtime/file/tflite.h"
#include "driver/base/ethosu_count.h"

#include "runtime/file/checked.h"
#include "runtime/file/plan.h"

/*
 * The fields read from each table of the schema, by number. Their values are the first members of a
 * structure, in this order.
 */

static const struct fb_field root_fields[] = {
    FB_WORDS(1), // operator codes
    FB_WORDS(2), // subgraphs
    FB_WORDS(4), // buffers
    FB_WORDS(6), // metadata
    FB_END,
};
static const struct fb_field graph_fields[] = {
    FB_WORDS(0), // tensors
    FB_WORDS(1), // inputs
    FB_WORDS(2), // outputs
    FB_WORDS(3), // operators
    FB_END,
};
static const struct fb_field tensor_fields[] = {
    FB_BYTE(1),  // type
    FB_BYTE(5),  // is it a variable?
    FB_WORD(2),  // buffer
    FB_WORDS(0), // shape
    FB_END,
};
enum { TENSOR_NAME = 3 };
static const struct fb_field operator_fields[] = {
    FB_WORD(0),  // code
    FB_WORDS(1), // inputs
    FB_WORDS(2), // outputs
    FB_TABLE(4), // options
    FB_BYTES(5), // custom options
    FB_END,
};

static const struct fb_field no_fields[] = {FB_END};

static const struct fb_field code_fields[] = {FB_BYTE(0), FB_BYTES(1), FB_WORD(3), FB_END};
struct code_table {
    uint32_t old; /**< older files have codes below 127 in this byte only */
    struct fb_vector custom;
    uint32_t builtin;
};

static const struct fb_field entry_fields[] = {FB_BYTES(0), FB_WORD(1), FB_END};
struct entry_table {
    struct fb_vector name;
    uint32_t buffer;
};

// Only read on request, because few files have several.
static const struct fb_field signatures_at[] = {FB_WORDS(7), FB_END};
static const struct fb_field signature_fields[] = {FB_BYTES(2), FB_WORD(4), FB_END};
struct signature_table {
    struct fb_vector name;
    uint32_t subgraph;
};

static const struct fb_field quantization_at[] = {FB_TABLE(4), FB_END};
static const struct fb_field quantization_fields[] = {FB_WORDS(2), FB_LONGS(3), FB_WORD(6), FB_END};
struct quantization_table {
    struct fb_vector scales;
    struct fb_vector zero_points;
    uint32_t axis;
};

/** OfflineMemoryAllocation: version, subgraphs, number of tensors, then one offset each. */
enum { OFFLINE_HEADER_WORDS = 3, OFFLINE_COUNT_WORD = 2 };

static const struct {
    const char *name;
    uint8_t size;
} types[] = {
    [ETHOSU_TYPE_FLOAT32] = {"float32", 4},     [ETHOSU_TYPE_FLOAT16] = {"float16", 2},
    [ETHOSU_TYPE_INT32] = {"int32", 4},         [ETHOSU_TYPE_UINT8] = {"uint8", 1},
    [ETHOSU_TYPE_INT64] = {"int64", 8},         [ETHOSU_TYPE_STRING] = {"string", 0},
    [ETHOSU_TYPE_BOOL] = {"bool", 1},           [ETHOSU_TYPE_INT16] = {"int16", 2},
    [ETHOSU_TYPE_COMPLEX64] = {"complex64", 8}, [ETHOSU_TYPE_INT8] = {"int8", 1},
    [ETHOSU_TYPE_FLOAT64] = {"float64", 8},     [ETHOSU_TYPE_COMPLEX128] = {"complex128", 16},
    [ETHOSU_TYPE_UINT64] = {"uint64", 8},       [ETHOSU_TYPE_RESOURCE] = {"resource", 0},
    [ETHOSU_TYPE_VARIANT] = {"variant", 0},     [ETHOSU_TYPE_UINT32] = {"uint32", 4},
    [ETHOSU_TYPE_UINT16] = {"uint16", 2},
};

const char *ethosu_model_type_name(uint32_t type)
{
    return type < COUNT(types) ? types[type].name : "?";
}

uint32_t ethosu_model_type_size(uint32_t type)
{
    return type < COUNT(types) ? types[type].size : 0;
}

static struct tflite_text text_of(const struct tflite *file, struct fb_vector string)
{
    return (struct tflite_text){(const char *)file->fb.data + string.position, string.count};
}

struct tflite_text tflite_get_text(struct tflite *file, uint32_t table, uint32_t field)
{
    const struct fb_field fields[] = {FB_BYTES(field), FB_END};
    struct fb_vector string;
    fb_read(&file->fb, table, fields, &string);
    return text_of(file, string);
}

struct fb_vector tflite_get_buffer(struct tflite *file, uint32_t index)
{
    static const struct fb_field fields[] = {FB_BYTES(0), FB_END};
    struct fb_vector data;
    fb_read(&file->fb, fb_element(&file->fb, &file->root.buffers, index), fields, &data);
    return data;
}

struct tflite_entry tflite_get_entry(struct tflite *file, uint32_t index)
{
    struct entry_table table;
    fb_read(&file->fb, fb_element(&file->fb, &file->root.metadata, index), entry_fields, &table);
    return (struct tflite_entry){text_of(file, table.name), table.buffer};
}

bool tflite_find_offsets(struct tflite *file, uint32_t subgraph)
{
    char name[] = PLAN_NAME ":00";
    const size_t end = sizeof name - 1;
    const struct tflite_text plan_name = {name, subgraph == 0 ? sizeof PLAN_NAME - 1 : end};
    const struct fb_vector *list = &file->root.metadata;
    name[end - 2] = (char)('0' + subgraph / 10);
    name[end - 1] = (char)('0' + subgraph % 10);
    file->plan.count = 0;
    if (list->count > TFLITE_MAX_METADATA) {
        file->fb.bad = true;
        file->fb.bad_at = list->position;
    }
    for (uint32_t i = 0; i < list->count && !file->fb.bad; i++) {
        struct tflite_entry entry = tflite_get_entry(file, i);
        bool plan = tflite_text_equal(entry.name, plan_name);
        if (!plan && !tflite_text_is(entry.name, "OfflineMemoryAllocation")) {
            continue;
        }
        struct fb_vector words = tflite_get_buffer(file, entry.buffer);
        words.count /= 4;
        if (plan) {
            file->plan = words;
            continue;
        }
        uint32_t count = fb_u32_at(&file->fb, &words, OFFLINE_COUNT_WORD);
        if (words.count >= OFFLINE_HEADER_WORDS && count <= words.count - OFFLINE_HEADER_WORDS) {
            file->offsets = words.position + 4 * OFFLINE_HEADER_WORDS;
            file->offset_count = count;
        }
    }
    return !file->fb.bad;
}

bool tflite_is_compiled(struct tflite *file)
{
    for (uint32_t i = 0; i < file->root.operator_codes.count && !file->fb.bad; i++) {
        struct code_table code;
        fb_read(&file->fb, fb_element(&file->fb, &file->root.operator_codes, i), code_fields,
                &code);
        if (tflite_text_is(text_of(file, code.custom), "ethos-u")) {
            return true;
        }
    }
    return false;
}

bool tflite_open(struct tflite *file, const void *data, uint32_t size)
{
    struct flatbuffer *fb = &file->fb;
    *fb = (struct flatbuffer){.data = data, .size = size};
    file->offset_count = file->offset_first = 0;
    file->plan.count = 0;
    fb_read(fb, fb_follow(fb, 0), root_fields, &file->root);
    return !fb->bad;
}

bool tflite_get_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph)
{
    struct flatbuffer *fb = &file->fb;
    fb_read(fb, fb_element(fb, &file->root.subgraphs, index), graph_fields, subgraph);
    return !fb->bad;
}

bool tflite_enter_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph)
{
    bool good = true;
    file->offset_first = 0;
    for (uint32_t i = 0; i <= index && good; i++) {
        file->offset_first += i == 0 ? 0 : subgraph->tensors.count;
        good = tflite_get_subgraph(file, i, subgraph);
    }
    return good;
}

struct fb_vector tflite_get_signatures(struct tflite *file)
{
    struct fb_vector list;
    fb_read(&file->fb, fb_follow(&file->fb, 0), signatures_at, &list);
    return list;
}

bool tflite_get_signature(struct tflite *file, const struct fb_vector *list, uint32_t index,
                          struct tflite_signature *signature)
{
    struct signature_table table;
    fb_read(&file->fb, fb_element(&file->fb, list, index), signature_fields, &table);
    *signature = (struct tflite_signature){text_of(file, table.name), table.subgraph};
    return !file->fb.bad;
}

/** Size of a tensor in bytes; false if a dimension is negative or the product exceeds 31 bits. */
static bool tensor_size(const struct flatbuffer *fb, struct tflite_tensor *tensor)
{
    int32_t size = (int32_t)ethosu_model_type_size(tensor->type);
    uint32_t end = tensor->shape.position + 4 * tensor->shape.count;
    for (uint32_t at = tensor->shape.position; at != end; at += 4) {
        int32_t dimension = (int32_t)fb_known_u32(fb, at);
        if (dimension < 0 || !checked_mul(size, dimension, &size)) {
            return false;
        }
    }
    tensor->size = (uint32_t)size;
    return true;
}

bool tflite_get_tensor(struct tflite *file, const struct tflite_subgraph *subgraph, uint32_t index,
                       struct tflite_tensor *tensor)
{
    struct flatbuffer *fb = &file->fb;
    tensor->table = fb_element(fb, &subgraph->tensors, index);
    fb_read(fb, tensor->table, tensor_fields, tensor);
    tensor->data = NULL;
    if (fb->bad || tensor->shape.count > ETHOSU_MODEL_MAX_RANK || !tensor_size(fb, tensor)) {
        return false;
    }
    if (tensor->buffer == 0) {
        return true;
    }
    struct fb_vector data = tflite_get_buffer(file, tensor->buffer);
    if (data.count != 0) {
        tensor->data = fb->data + data.position;
    }
    return !fb->bad && (data.count == 0 || data.count >= tensor->size);
}

bool tflite_get_operator(struct tflite *file, const struct tflite_subgraph *subgraph,
                         uint32_t index, struct tflite_operator_call *call)
{
    struct flatbuffer *fb = &file->fb;
    struct code_table code;
    fb_read(fb, fb_element(fb, &subgraph->operators, index), operator_fields, call);
    fb_read(fb, fb_element(fb, &file->root.operator_codes, call->code_index), code_fields, &code);
    fb_read(fb, call->options, no_fields, NULL); // validates the table even if it is not read
    call->code = code.builtin > code.old ? code.builtin : code.old;
    call->custom = text_of(file, code.custom);
    call->npu = call->code == TFLITE_CUSTOM && tflite_text_is(call->custom, "ethos-u");
    return !fb->bad;
}

int32_t tflite_get_offset(struct tflite *file, uint32_t tensor)
{
    // The offsets are a checked vector.
    const uint32_t first = file->offset_first;
    return first < file->offset_count && tensor < file->offset_count - first
               ? (int32_t)fb_known_u32(&file->fb, file->offsets + 4 * (first + tensor))
               : -1;
}

struct tflite_text tflite_get_name(struct tflite *file, const struct tflite_tensor *tensor)
{
    return tflite_get_text(file, tensor->table, TENSOR_NAME);
}

static void get_quantization(struct tflite *file, const struct tflite_tensor *tensor,
                             struct quantization_table *quantization)
{
    uint32_t table;
    fb_read(&file->fb, tensor->table, quantization_at, &table);
    fb_read(&file->fb, table, quantization_fields, quantization);
}

bool tflite_get_channels(struct tflite *file, const struct tflite_tensor *tensor,
                         struct tflite_channels *channels)
{
    struct quantization_table quantization;
    get_quantization(file, tensor, &quantization);
    *channels = (struct tflite_channels){
        .count = quantization.scales.count,
        .zero_points = quantization.zero_points.count,
        .size = 1,
    };
    if (channels->count <= 1 && channels->zero_points <= 1) {
        return true; // one for all elements, so the axis is irrelevant
    }
    channels->axis = quantization.axis;
    if (channels->axis < tensor->shape.count) {
        channels->size = fb_u32_at(&file->fb, &tensor->shape, channels->axis);
    }
    return (channels->count <= 1 || channels->count == channels->size) &&
           (channels->zero_points <= 1 || channels->zero_points == channels->count);
}

bool tflite_get_channel(struct tflite *file, const struct tflite_tensor *tensor, uint32_t channel,
                        float *scale, int32_t *zero_point)
{
    const uint8_t *data = file->fb.data;
    struct quantization_table quantization;
    get_quantization(file, tensor, &quantization);
    *scale = 0.0F;
    *zero_point = 0;
    if (channel >= quantization.scales.count) {
        return false;
    }
    memcpy(scale, data + quantization.scales.position + 4 * channel, sizeof *scale);
    // A single zero point applies to all channels.
    uint32_t at = quantization.zero_points.count == 1 ? 0 : channel;
    if (at < quantization.zero_points.count) {
        // 64 bits in the file; all values that TensorFlow Lite allows fit the low half.
        memcpy(zero_point, data + quantization.zero_points.position + 8 * at, sizeof *zero_point);
    }
    return true;
}
