// SPDX-License-Identifier: MIT
/** Describes `.tflite` files; see ethosu_describe.h. */
#include "runtime/describe/describer.h"

#include "runtime/kernels/shared/kernel.h"

static int get_entry(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_entry *entry, struct ethosu_model_error *error)
{
    struct tflite *file = &reader_of(description)->tflite;
    struct tflite_entry stored = tflite_get_entry(file, index);
    struct fb_vector content = tflite_get_buffer(file, stored.buffer);
    entry->name = describe_text(stored.name);
    entry->content =
        (struct ethosu_describe_bytes){file->fb.data + content.position, content.count};
    return file->fb.bad ? describe_damage(&file->fb, error) : ETHOSU_MODEL_OK;
}

/** Make a subgraph the current one; the offsets of its tensors follow those of all before it. */
static int enter_graph(struct ethosu_description *description, uint32_t index,
                       struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    bool continues = reader->graph != UINT32_MAX && reader->graph < index;
    uint32_t first = continues ? reader->graph + 1 : 0;
    if (!continues) {
        reader->tflite.offset_first = 0;
    }
    TRY(describe_take(description, index - first, error));
    for (uint32_t i = first; i <= index; i++) {
        reader->tflite.offset_first += i == 0 ? 0 : reader->subgraph.tensors.count;
        if (!tflite_get_subgraph(&reader->tflite, i, &reader->subgraph)) {
            return describe_damage(&reader->tflite.fb, error);
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Read a list of tensors, all of which must exist; an operator's input may be absent. */
static int get_tensors(struct ethosu_description *description, struct fb_vector list,
                       const char *where, bool may_lack, struct ethosu_describe_bytes *bytes,
                       struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    struct flatbuffer *fb = &reader->tflite.fb;
    const uint32_t count = reader->subgraph.tensors.count;
    TRY(describe_list(description, fb, list, sizeof(uint32_t), bytes, error));
    for (uint32_t i = 0; i < list.count; i++) {
        uint32_t tensor = fb_u32_at(fb, &list, i);
        if (tensor >= count && !(may_lack && tensor == TFLITE_NO_TENSOR)) {
            return error_set(error, ETHOSU_MODEL_BAD_FILE, "%s uses tensor %d of %u", where,
                             (int)tensor, (unsigned)count);
        }
    }
    return ETHOSU_MODEL_OK;
}

static int get_graph(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_graph *graph, struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    TRY(enter_graph(description, index, error));
    graph->values = reader->subgraph.tensors.count;
    graph->operators = reader->subgraph.operators.count;
    TRY(get_tensors(description, reader->subgraph.inputs, "the graph", false, &graph->inputs,
                    error));
    return get_tensors(description, reader->subgraph.outputs, "the graph", false, &graph->outputs,
                       error);
}

static int refuse_shape(const struct tflite_text *name, uint32_t index,
                        struct ethosu_model_error *error)
{
    return error_set(error, ETHOSU_MODEL_BAD_FILE,
                     "tensor %u (%.*s) has a shape that no arena can hold: a negative size, more "
                     "than 8 dimensions, or more than 2 GB",
                     (unsigned)index, (int)name->length, name->bytes);
}

static int get_value(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    struct tflite *file = &reader->tflite;
    struct tflite_tensor stored;
    // In a source model, the data size may differ from the shape's: sparse tensors.
    bool right = tflite_get_tensor(file, &reader->subgraph, index, &stored) || stored.data != NULL;
    struct tflite_text name = tflite_get_name(file, &stored);
    struct fb_vector content = {0};
    if (stored.buffer != 0) {
        content = tflite_get_buffer(file, stored.buffer);
    }
    struct tflite_channels channels;
    struct ethosu_model_tensor *tensor = &value->tensor;
    tflite_get_channels(file, &stored, &channels);
    tflite_get_channel(file, &stored, 0, &tensor->scale, &tensor->zero_point);
    if (file->fb.bad) {
        return describe_damage(&file->fb, error);
    }
    if (!right) {
        return refuse_shape(&name, index, error);
    }
    tensor->name = name.bytes;
    tensor->name_length = name.length;
    tensor->type = stored.type;
    tensor->size = stored.size;
    tensor->rank = stored.shape.count;
    tensor->channels = channels.count;
    tensor->axis = channels.axis;
    for (uint32_t i = 0; i < stored.shape.count; i++) {
        tensor->shape[i] = (int32_t)fb_u32_at(&file->fb, &stored.shape, i);
        tensor->order[i] = (uint8_t)i;
    }
    int32_t offset = tflite_get_offset(file, index);
    value->kind = ETHOSU_KIND_TENSOR;
    value->offset = offset < 0 ? -1 : offset;
    value->variable = stored.variable != 0;
    value->data = (struct ethosu_describe_bytes){file->fb.data + content.position, content.count};
    return ETHOSU_MODEL_OK;
}

/** "operator 3 (ADD)" */
static void name_operator(struct ethosu_model_error *where, uint32_t index,
                          const struct ethosu_describe_bytes *name)
{
    (error_set)(where, 0, "operator %u (%.*s)", (unsigned)index, (int)name->size,
                (const char *)name->data);
}

static int get_operator(struct ethosu_description *description, uint32_t index,
                        struct ethosu_describe_operator *operation,
                        struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    struct tflite_operator_call call;
    struct ethosu_model_error where;
    if (!tflite_get_operator(&reader->tflite, &reader->subgraph, index, &call)) {
        return describe_damage(&reader->tflite.fb, error);
    }
    struct tflite_text name = call.custom.length != 0 ? call.custom : operator_name(call.code);
    operation->name =
        tflite_text_is(name, "?") ? (struct ethosu_describe_bytes){"", 0} : describe_text(name);
    operation->code = call.code;
    operation->known = call.npu || kernel_find(&call) != NULL;
    operation->runs_on = call.npu ? ETHOSU_ON_NPU : ETHOSU_ON_CPU;
    name_operator(&where, index, &operation->name);
    if (call.npu && call.inputs.count <= NPU_INPUT_FAST_SCRATCH) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "%s has %u inputs", where.text,
                         (unsigned)call.inputs.count);
    }
    TRY(get_tensors(description, call.inputs, where.text, !call.npu, &operation->inputs, error));
    return get_tensors(description, call.outputs, where.text, false, &operation->outputs, error);
}

/** Describe input number `input` of an NPU operator. */
static int get_input(struct ethosu_description *description,
                     const struct ethosu_describe_operator *operation, uint32_t input,
                     struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    uint32_t tensor = fb_word((const uint8_t *)operation->inputs.data + 4 * input);
    return get_value(description, tensor, value, error);
}

static int get_npu_call(struct ethosu_description *description, uint32_t index,
                        const struct ethosu_describe_bytes *data,
                        struct ethosu_describe_npu_call *call, struct ethosu_model_error *error)
{
    struct ethosu_describe_operator operation;
    struct ethosu_describe_value value;
    (void)data;
    TRY(get_operator(description, index, &operation, error));
    if (operation.runs_on != ETHOSU_ON_NPU) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "operator %u does not run on the NPU",
                         (unsigned)index);
    }
    TRY(get_input(description, &operation, NPU_INPUT_PAYLOAD, &value, error));
    call->payload = value.data;
    TRY(get_input(description, &operation, NPU_INPUT_READ_ONLY, &value, error));
    call->constants = value.data;
    TRY(get_input(description, &operation, NPU_INPUT_SCRATCH, &value, error));
    call->scratch_size = value.tensor.size;
    TRY(get_input(description, &operation, NPU_INPUT_FAST_SCRATCH, &value, error));
    const uint8_t *inputs = operation.inputs.data;
    bool shared =
        fb_word(inputs + 4 * NPU_INPUT_SCRATCH) == fb_word(inputs + 4 * NPU_INPUT_FAST_SCRATCH);
    call->fast_scratch_size = shared ? 0 : value.tensor.size;
    return ETHOSU_MODEL_OK;
}

static const struct describer describer = {
    .entry = get_entry,
    .graph = get_graph,
    .value = get_value,
    .operation = get_operator,
    .npu_call = get_npu_call,
};

int describe_open_tflite(struct ethosu_description *description, const void *data, uint32_t size,
                         struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    struct tflite *file = &reader->tflite;
    struct tflite_subgraph graph;
    reader->format = &describer;
    if (!tflite_open(file, data, size)) {
        return describe_damage(&file->fb, error);
    }
    description->graphs = file->root.subgraphs.count;
    description->entries = file->root.metadata.count;
    description->signatures = tflite_get_signatures(file).count;
    if (description->graphs == 0) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "the model has no graph");
    }
    if (!tflite_find_offsets(file, 0) || !tflite_get_subgraph(file, 0, &graph)) {
        return describe_damage(&file->fb, error);
    }
    if (file->offset_count != 0 && file->offset_count < graph.tensors.count) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "OfflineMemoryAllocation has %u offsets for %u tensors",
                         (unsigned)file->offset_count, (unsigned)graph.tensors.count);
    }
    return ETHOSU_MODEL_OK;
}
