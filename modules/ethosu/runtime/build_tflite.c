// SPDX-License-Identifier: MIT
/** Builds the steps of a compiled `.tflite` file. See builder.h. */
#include "builder.h"

#include "format.h"
#include "plan_check.h"

#include <string.h>

/** Reject a tensor that could not be read: the file is malformed, or its sizes are inconsistent. */
static int bad_tensor(struct builder *builder, uint32_t tensor)
{
    const struct flatbuffer *fb = &builder->file.fb;
    if (fb->bad) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u of subgraph %u: malformed or truncated at byte %u of %u",
                         (unsigned)tensor, (unsigned)builder->graph_index, (unsigned)fb->bad_at,
                         (unsigned)fb->size);
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "tensor %u of subgraph %u: shape and data do not match", (unsigned)tensor,
                     (unsigned)builder->graph_index);
}

bool build_get_tensor(struct builder *builder, uint32_t index, struct tflite_tensor *tensor)
{
    struct file_cache *cache = &builder->cache;
    if (cache->graph != builder->graph_index) {
        cache->graph = builder->graph_index;
        cache->valid = 0;
    }
    bool keep = index < TENSOR_CACHE_SIZE;
    struct tflite_tensor *read = keep ? &cache->list[index] : tensor;
    if (!keep || (cache->valid >> index & 1) == 0) {
        if (!tflite_get_tensor(&builder->file, &builder->graph, index, read)) {
            return false;
        }
        cache->valid |= keep ? 1u << index : 0;
    }
    *tensor = *read;
    return true;
}

int build_get_channels(struct builder *builder, uint32_t index, const struct tflite_tensor *tensor,
                       struct tflite_channels *channels)
{
    if (tflite_get_channels(&builder->file, tensor, channels)) {
        return ETHOSU_MODEL_OK;
    }
    struct tflite_text name = tflite_get_name(&builder->file, tensor);
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "tensor %u (%.*s) of subgraph %u: %u scales and %u zero points, expected 0, 1 "
                     "or %u of each",
                     (unsigned)index, (int)name.length, name.bytes, (unsigned)builder->graph_index,
                     (unsigned)channels->count, (unsigned)channels->zero_points,
                     (unsigned)channels->size);
}

int build_find_tensor(struct builder *builder, uint32_t tensor, struct operand *operand)
{
    if (!build_get_tensor(builder, tensor, &operand->tensor)) {
        return bad_tensor(builder, tensor);
    }
    operand->data = operand->tensor.data;
    operand->offset = -1;
    if (operand->data != NULL) {
        return ETHOSU_MODEL_OK;
    }
    if (tensor == builder->fast_tensor) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u of subgraph %u: not only used as the NPU's fast scratch",
                         (unsigned)tensor, (unsigned)builder->graph_index);
    }
    operand->offset = tflite_get_offset(&builder->file, tensor);
    if (operand->offset < 0 || operand->tensor.size == 0) {
        struct tflite_text name = tflite_get_name(&builder->file, &operand->tensor);
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u (%.*s) of subgraph %u: %u bytes of %s without an offset in "
                         "OfflineMemoryAllocation",
                         (unsigned)tensor, (int)name.length, name.bytes,
                         (unsigned)builder->graph_index, (unsigned)operand->tensor.size,
                         ethosu_model_type_name(operand->tensor.type));
    }
    // The file may have changed since all offsets were checked.
    TRY(build_grow_arena(builder, (uint64_t)operand->offset + operand->tensor.size));
    operand->data = build_address(builder, (uint32_t)operand->offset);
    return ETHOSU_MODEL_OK;
}

int build_find_operand(struct builder *builder, const struct fb_vector *list, uint32_t index,
                       struct operand *operand)
{
    if (index >= list->count) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "too few inputs or outputs");
    }
    return build_find_tensor(builder, fb_u32_at(&builder->file.fb, list, index), operand);
}

/** Add state, which persists between inferences. Initially, each byte is its zero point. */
static int add_state(struct builder *builder, const struct tflite_tensor *tensor, uint32_t offset)
{
    float scale;
    int32_t zero_point;
    tflite_get_channel(&builder->file, tensor, 0, &scale, &zero_point);
    return build_fill(builder, offset, tensor->size, (uint8_t)zero_point);
}

/** Check every tensor of the current graph in the arena, size the arena, find the state tensors. */
static int build_graph_tensors(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->graph.tensors.count; i++) {
        TRY(build_work_at(builder, i));
        int32_t offset = tflite_get_offset(&builder->file, i);
        if (offset < 0 || i == builder->fast_tensor) {
            continue; // fast scratch, a constant or a handle: checked when an operator uses it
        }
        struct tflite_tensor tensor;
        if (!build_get_tensor(builder, i, &tensor)) {
            return bad_tensor(builder, i);
        }
        TRY(build_grow_arena(builder, (uint64_t)offset + tensor.size));
        if (tensor.variable && builder->graph_index == 0) {
            TRY(add_state(builder, &tensor, (uint32_t)offset));
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Size the arena for the tensors of all graphs, before anything is added after them. */
static int build_tensors(struct builder *builder)
{
    uint32_t graphs = builder->file.root.subgraphs.count;
    TRY(build_graph_tensors(builder));
    builder->planned_arena = builder->model->arena_size;
    for (uint32_t i = 1; i < graphs && i < MAX_SUBGRAPHS; i++) {
        TRY(build_enter_graph(builder, i));
        TRY(build_graph_tensors(builder));
    }
    return graphs > 1 ? build_enter_graph(builder, 0) : ETHOSU_MODEL_OK;
}

/** Record the addresses of the model's inputs or outputs. */
static int build_buffers(struct builder *builder, const struct fb_vector *list,
                         struct ethosu_model_buffer **next)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct operand operand;
        uint32_t tensor = fb_u32_at(&builder->file.fb, list, i);
        TRY(build_find_tensor(builder, tensor, &operand));
        if (operand.offset < 0 || tensor > UINT16_MAX) {
            return error_set(builder->error, ETHOSU_MODEL_UNSUPPORTED,
                             "tensor %u can't be an input or output of the model",
                             (unsigned)tensor);
        }
        if (!builder->loading) {
            struct tflite_channels channels; // also checked by ethosu_model_get_tensor()
            TRY(build_get_channels(builder, tensor, &operand.tensor, &channels));
        } else {
            *(*next)++ = (struct ethosu_model_buffer){
                build_address(builder, (uint32_t)operand.offset), operand.tensor.size,
                (uint16_t)tensor, (uint16_t)operand.tensor.type};
        }
    }
    return ETHOSU_MODEL_OK;
}

static int build_io(struct builder *builder)
{
    const struct tflite_subgraph *graph = &builder->graph;
    struct ethosu_model_buffer *next;
    TRY(build_counts(builder, graph->inputs.count, graph->outputs.count, &next));
    TRY(build_buffers(builder, &graph->inputs, &next));
    return build_buffers(builder, &graph->outputs, &next);
}

/** Was the model never compiled? A file with a plan may run only on the CPU. */
static bool uncompiled(struct builder *builder)
{
    return builder->file.plan.count == 0 && !tflite_is_compiled(&builder->file);
}

static int refuse_uncompiled(struct builder *builder)
{
    char config[ETHOSU_EXT_CONFIG_NAME_SIZE] = "ethos-u55-128";
    if (builder->driver != NULL) {
        ethosu_ext_config_name(ethosu_ext_config(builder->driver), config);
    }
    return error_set(builder->error, ETHOSU_MODEL_NOT_COMPILED,
                     "model has no ethos-u operator: it was not compiled for an NPU; "
                     "run: ethosu compile MODEL.tflite --npu %s",
                     config);
}

/** Open the file, unless measuring has. */
static bool open_tables(struct builder *builder, const struct ethosu_model_source *source)
{
    struct tflite *file = &builder->file;
    struct file_cache *cache = &builder->cache;
    if (!cache->open) {
        cache->graph = TFLITE_NO_GRAPH;
        cache->call_index = TFLITE_NO_OPERATOR;
        cache->open = tflite_open(file, source->file, (uint32_t)source->file_size) &&
                      tflite_find_offsets(file);
    }
    return cache->open && tflite_get_subgraph(file, 0, &builder->graph);
}

static int open_file(struct builder *builder, const struct ethosu_model_source *source)
{
    struct ethosu_model_error *error = builder->error;
    struct tflite *file = &builder->file;
    if (!open_tables(builder, source)) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE,
                         "file is malformed or truncated at byte %u of %u",
                         (unsigned)file->fb.bad_at, (unsigned)file->fb.size);
    }
    if (file->offset_count < builder->graph.tensors.count) {
        return uncompiled(builder)
                   ? refuse_uncompiled(builder)
                   : error_set(error, ETHOSU_MODEL_BAD_FILE,
                               "OfflineMemoryAllocation has %u offsets for %u tensors",
                               (unsigned)file->offset_count,
                               (unsigned)builder->graph.tensors.count);
    }
    return ETHOSU_MODEL_OK;
}

/** Read the file and build the plan, stage by stage. */
static int build_stages(struct builder *builder, const struct ethosu_model_source *source)
{
    TRY(open_file(builder, source));
    TRY(build_find_fast_tensor(builder));
    TRY(build_io(builder));
    TRY(build_tensors(builder));
    TRY(plan_open(builder));
    TRY(plan_check_overlaps(builder));
    return build_graphs(builder);
}

static int build(struct builder *builder, const struct ethosu_model_source *source)
{
    const struct ethosu_model *model = builder->model;
    struct variable_table variables;
    builder->variables = &variables;
    variables.count = 0;
    int status = build_stages(builder, source);
    bool check_compiled = status == ETHOSU_MODEL_OK || status == ETHOSU_MODEL_UNSUPPORTED ||
                          status == ETHOSU_MODEL_BAD_PLAN;
    if (check_compiled && model->npu_calls == 0 && uncompiled(builder)) {
        return refuse_uncompiled(builder);
    }
    return status;
}

const struct model_format tflite_format = {
    .build = build,
    .refuse = tflite_refuse,
};
