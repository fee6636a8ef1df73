// SPDX-License-Identifier: MIT
/** What the runtime reads of TensorFlow Lite's schema; see tflite.h. */
#include "tflite.h"

#include "checked.h"
#include "plan.h"

// Field numbers of the schema's tables, in the order of its declarations.
enum { MODEL_OPERATOR_CODES = 1, MODEL_SUBGRAPHS = 2, MODEL_BUFFERS = 4, MODEL_METADATA = 6 };
enum { METADATA_NAME = 0, METADATA_BUFFER = 1 };
enum { CODE_SHORT = 0, CODE_CUSTOM = 1, CODE_BUILTIN = 3 };
enum { GRAPH_TENSORS = 0, GRAPH_INPUTS = 1, GRAPH_OUTPUTS = 2, GRAPH_OPERATORS = 3 };
enum {
    TENSOR_SHAPE = 0,
    TENSOR_TYPE = 1,
    TENSOR_BUFFER = 2,
    TENSOR_NAME = 3,
    TENSOR_QUANTIZATION = 4,
    TENSOR_IS_VARIABLE = 5,
};
enum { QUANTIZATION_SCALE = 2, QUANTIZATION_ZERO_POINT = 3, QUANTIZATION_AXIS = 6 };
enum {
    OPERATOR_CODE = 0,
    OPERATOR_INPUTS = 1,
    OPERATOR_OUTPUTS = 2,
    OPERATOR_OPTIONS = 4,
    OPERATOR_CUSTOM_OPTIONS = 5,
};
enum { BUFFER_DATA = 0 };

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
    return type < sizeof types / sizeof types[0] ? types[type].name : "?";
}

uint32_t ethosu_model_type_size(uint32_t type)
{
    return type < sizeof types / sizeof types[0] ? types[type].size : 0;
}

struct tflite_text tflite_get_text(struct tflite *file, const struct fb_table *table,
                                   uint32_t field)
{
    struct fb_vector string = fb_get_vector(&file->fb, table, field, 1);
    return (struct tflite_text){(const char *)file->fb.data + string.position, string.count};
}

/** Contents of a buffer; an empty vector for the buffers of tensors that are computed. */
static struct fb_vector buffer_data(struct tflite *file, uint32_t index)
{
    struct fb_table buffer = fb_table_at(&file->fb, &file->buffers, index);
    return fb_get_vector(&file->fb, &buffer, BUFFER_DATA, 1);
}

bool tflite_find_offsets(struct tflite *file)
{
    struct fb_vector list = fb_get_vector(&file->fb, &file->root, MODEL_METADATA, 4);
    if (list.count > TFLITE_MAX_METADATA) {
        file->fb.bad = true;
        file->fb.bad_at = list.position;
    }
    for (uint32_t i = 0; i < list.count && !file->fb.bad; i++) {
        struct fb_table entry = fb_table_at(&file->fb, &list, i);
        struct tflite_text name = tflite_get_text(file, &entry, METADATA_NAME);
        bool plan = tflite_text_is(name, PLAN_NAME);
        if (!plan && !tflite_text_is(name, "OfflineMemoryAllocation")) {
            continue;
        }
        uint32_t index = fb_get_u32(&file->fb, &entry, METADATA_BUFFER, 0);
        struct fb_vector words = buffer_data(file, index);
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

static uint32_t builtin_code(struct tflite *file, const struct fb_table *code)
{
    // Older files have codes below 127 in the byte-wide field only.
    uint32_t old = fb_get_u8(&file->fb, code, CODE_SHORT, 0);
    uint32_t builtin = fb_get_u32(&file->fb, code, CODE_BUILTIN, 0);
    return builtin > old ? builtin : old;
}

bool tflite_is_compiled(struct tflite *file)
{
    for (uint32_t i = 0; i < file->operator_codes.count && !file->fb.bad; i++) {
        struct fb_table code = fb_table_at(&file->fb, &file->operator_codes, i);
        if (tflite_text_is(tflite_get_text(file, &code, CODE_CUSTOM), "ethos-u")) {
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
    file->root = fb_root(fb);
    file->operator_codes = fb_get_vector(fb, &file->root, MODEL_OPERATOR_CODES, 4);
    file->subgraphs = fb_get_vector(fb, &file->root, MODEL_SUBGRAPHS, 4);
    file->buffers = fb_get_vector(fb, &file->root, MODEL_BUFFERS, 4);
    return !fb->bad;
}

bool tflite_get_subgraph(struct tflite *file, uint32_t index, struct tflite_subgraph *subgraph)
{
    struct flatbuffer *fb = &file->fb;
    struct fb_table table = fb_table_at(fb, &file->subgraphs, index);
    subgraph->tensors = fb_get_vector(fb, &table, GRAPH_TENSORS, 4);
    subgraph->inputs = fb_get_vector(fb, &table, GRAPH_INPUTS, 4);
    subgraph->outputs = fb_get_vector(fb, &table, GRAPH_OUTPUTS, 4);
    subgraph->operators = fb_get_vector(fb, &table, GRAPH_OPERATORS, 4);
    return !fb->bad;
}

/** Bytes of a tensor; false when a dimension is negative or the product leaves 31 bits. */
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
    struct fb_table table = fb_table_at(fb, &subgraph->tensors, index);
    tensor->type = fb_get_u8(fb, &table, TENSOR_TYPE, 0);
    tensor->shape = fb_get_vector(fb, &table, TENSOR_SHAPE, 4);
    tensor->table = table;
    tensor->variable = fb_get_u8(fb, &table, TENSOR_IS_VARIABLE, 0) != 0;
    tensor->data = NULL;
    if (fb->bad || tensor->shape.count > ETHOSU_MODEL_MAX_RANK || !tensor_size(fb, tensor)) {
        return false;
    }
    uint32_t buffer = fb_get_u32(fb, &table, TENSOR_BUFFER, 0);
    struct fb_vector data = buffer == 0 ? (struct fb_vector){0} : buffer_data(file, buffer);
    if (data.count != 0) {
        tensor->data = fb->data + data.position;
    }
    return !fb->bad && (data.count == 0 || data.count >= tensor->size);
}

bool tflite_get_operator(struct tflite *file, const struct tflite_subgraph *subgraph,
                         uint32_t index, struct tflite_operator_call *call)
{
    struct flatbuffer *fb = &file->fb;
    struct fb_table table = fb_table_at(fb, &subgraph->operators, index);
    uint32_t code_index = fb_get_u32(fb, &table, OPERATOR_CODE, 0);
    struct fb_table code = fb_table_at(fb, &file->operator_codes, code_index);
    call->code = builtin_code(file, &code);
    call->custom = tflite_get_text(file, &code, CODE_CUSTOM);
    call->npu = call->code == TFLITE_CUSTOM && tflite_text_is(call->custom, "ethos-u");
    call->inputs = fb_get_vector(fb, &table, OPERATOR_INPUTS, 4);
    call->outputs = fb_get_vector(fb, &table, OPERATOR_OUTPUTS, 4);
    call->options = fb_get_table(fb, &table, OPERATOR_OPTIONS);
    call->custom_options = fb_get_vector(fb, &table, OPERATOR_CUSTOM_OPTIONS, 1);
    return !fb->bad;
}

int32_t tflite_get_offset(struct tflite *file, uint32_t tensor)
{
    uint64_t index = (uint64_t)file->offset_first + tensor;
    if (index >= file->offset_count) {
        return -1;
    }
    return (int32_t)fb_u32(&file->fb, file->offsets + 4 * (uint32_t)index);
}

struct tflite_text tflite_get_name(struct tflite *file, const struct tflite_tensor *tensor)
{
    return tflite_get_text(file, &tensor->table, TENSOR_NAME);
}

/** Scales and zero points in the file. */
struct quantization {
    struct fb_table table;
    struct fb_vector scales;
    struct fb_vector zero_points;
};

static struct quantization get_quantization(struct tflite *file, const struct tflite_tensor *tensor)
{
    struct flatbuffer *fb = &file->fb;
    struct quantization found = {
        .table = fb_get_table(fb, &tensor->table, TENSOR_QUANTIZATION),
    };
    found.scales = fb_get_vector(fb, &found.table, QUANTIZATION_SCALE, 4);
    found.zero_points = fb_get_vector(fb, &found.table, QUANTIZATION_ZERO_POINT, 8);
    return found;
}

bool tflite_get_channels(struct tflite *file, const struct tflite_tensor *tensor,
                         struct tflite_channels *channels)
{
    struct quantization found = get_quantization(file, tensor);
    *channels = (struct tflite_channels){
        .count = found.scales.count,
        .zero_points = found.zero_points.count,
        .size = 1,
    };
    if (channels->count <= 1 && channels->zero_points <= 1) {
        return true; // one for all elements: the axis does not matter
    }
    channels->axis = fb_get_u32(&file->fb, &found.table, QUANTIZATION_AXIS, 0);
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
    struct quantization found = get_quantization(file, tensor);
    *scale = 0.0F;
    *zero_point = 0;
    if (channel >= found.scales.count) {
        return false;
    }
    memcpy(scale, data + found.scales.position + 4 * channel, sizeof *scale);
    // One zero point may be that of all channels.
    uint32_t at = found.zero_points.count == 1 ? 0 : channel;
    if (at < found.zero_points.count) {
        // 64 bits wide in the file; every value that TensorFlow Lite allows fits the low half.
        memcpy(zero_point, data + found.zero_points.position + 8 * at, sizeof *zero_point);
    }
    return true;
}
