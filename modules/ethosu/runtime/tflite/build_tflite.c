// SPDX-License-Identifier: MIT
/** Builds the steps of a compiled `.tflite` file. See builder.h. */
#include "runtime/tflite/tflite_format.h"

#include "runtime/plan/plan_check.h"
#include "runtime/kernels/shared/plan_reader.h"
#include "runtime/plan/schedule.h"

#include <string.h>

static int refuse_damage(struct builder *builder)
{
    const struct flatbuffer *fb = &builder->file.fb;
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "file is malformed or truncated at byte %u of %u", (unsigned)fb->bad_at,
                     (unsigned)fb->size);
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
            return build_bad_tensor(builder, i);
        }
        TRY(build_grow_arena(builder, (uint64_t)offset + tensor.size));
        if (tensor.variable && builder->graph_index == builder->main_graph) {
            TRY(add_state(builder, &tensor, (uint32_t)offset));
        }
    }
    return ETHOSU_MODEL_OK;
}

/**
 * Size the arena for the tensors of all graphs, before anything is added after them. This includes
 * graphs of other signatures, so that models of all signatures can share one arena.
 */
static int build_tensors(struct builder *builder)
{
    uint32_t graphs = builder->file.root.subgraphs.count;
    TRY(build_graph_tensors(builder));
    builder->planned_arena = builder->model->arena_size;
    for (uint32_t i = 0; i < graphs && i < MAX_SUBGRAPHS && graphs > 1; i++) {
        if (i != builder->main_graph) {
            TRY(build_enter_graph(builder, i));
            TRY(build_graph_tensors(builder));
        }
    }
    return graphs > 1 ? build_enter_graph(builder, builder->main_graph) : ETHOSU_MODEL_OK;
}

/** One end of the model: an input or an output. */
struct end {
    uint32_t tensor;
    uint32_t number; /**< inputs first, then outputs */
    bool output;
};

static struct end get_end(struct builder *builder, uint32_t number)
{
    const struct tflite_subgraph *graph = &builder->graph;
    bool output = number >= graph->inputs.count;
    const struct fb_vector *list = output ? &graph->outputs : &graph->inputs;
    uint32_t at = output ? number - graph->inputs.count : number;
    return (struct end){fb_u32_at(&builder->file.fb, list, at), number, output};
}

#ifdef ETHOSU_MESSAGES_TERSE
#define refuse_end(builder, end, tensor, status, why) \
    ((void)(end), (void)(tensor), error_set((builder)->error, status, "%s", why))
#define refuse_signature(builder, name) \
    error_set((builder)->error, ETHOSU_MODEL_BAD_FILE, "%s", name)
#else

/** "tensor 5 (anchors), output 1 of the model, is never written …". */
static int refuse_end(struct builder *builder, const struct end *end,
                      const struct tflite_tensor *tensor, int status, const char *why)
{
    struct tflite_text name = tflite_get_name(&builder->file, tensor);
    uint32_t number = end->output ? end->number - builder->graph.inputs.count : end->number;
    return error_set(builder->error, status, "tensor %u (%.*s), %s %u of the model, %s",
                     (unsigned)end->tensor, (int)name.length, name.bytes,
                     end->output ? "output" : "input", (unsigned)number, why);
}

/** "the file has no signature \"x\"; its signatures are: add, mul". */
static int refuse_signature(struct builder *builder, const char *name)
{
    struct fb_vector names = tflite_get_signatures(&builder->file);
    struct ethosu_model_error list = {""};
    struct tflite_signature each;
    if (names.count == 0) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "the file has neither methods nor signatures, \"%s\" requested", name);
    }
    for (uint32_t i = 0; i < names.count && i < 8; i++) {
        if (!tflite_get_signature(&builder->file, &names, i, &each)) {
            return refuse_damage(builder);
        }
        struct ethosu_model_error before = list;
        error_set(&list, 0, "%s%s%.*s", before.text, i == 0 ? "" : ", ",
                  (int)(each.name.length > 24 ? 24 : each.name.length), each.name.bytes);
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "the file has no signature \"%s\"; its signatures are: %s", name, list.text);
}

#endif

/**
 * Reserve memory for an end that has no place in the plan: an input that no operator reads, or a
 * constant output. An earlier end may be the same tensor.
 */
static int reserve_end(struct builder *builder, const struct end *end, struct operand *operand)
{
    uint32_t offset = 0;
    bool reserved = false;
    for (uint32_t i = 0; i < end->number && !reserved; i++) {
        TRY(build_work_at(builder, i));
        reserved = get_end(builder, i).tensor == end->tensor;
        if (reserved && builder->loading) {
            const uint8_t *data = model_buffers(builder->model)[i].data;
            offset = (uint32_t)(data - builder->arena);
        }
    }
    if (!reserved) {
        TRY(build_reserve(builder, operand->tensor.size, &offset));
    }
    operand->offset = (int32_t)offset;
    return build_address(builder, offset, operand->tensor.size, &operand->data);
}

/** Find the memory of an end. */
static int find_end(struct builder *builder, const struct end *end, struct operand *operand)
{
    const struct tflite_tensor *tensor = &operand->tensor;
    if (!build_get_tensor(builder, end->tensor, &operand->tensor)) {
        return build_bad_tensor(builder, end->tensor);
    }
    operand->offset = -1;
    if (tensor->size == 0 || end->tensor == builder->fast_tensor) {
        TRY(build_find_tensor(builder, end->tensor, operand)); // rejects it, unless constant
    }
    if (tensor->data != NULL && (!end->output || tensor->size == 0)) {
        return refuse_end(builder, end, tensor, ETHOSU_MODEL_UNSUPPORTED, "is a constant");
    }
    builder->constant_outputs |= tensor->data != NULL;
    if (tensor->data == NULL) {
        operand->offset = tflite_get_offset(&builder->file, end->tensor);
    }
    return operand->offset >= 0
               ? build_address(builder, (uint32_t)operand->offset, tensor->size, &operand->data)
               : reserve_end(builder, end, operand);
}

/** Record the addresses of the model's inputs and outputs. */
static int build_io(struct builder *builder)
{
    struct ethosu_model_buffer *next;
    TRY(build_counts(builder, builder->graph.inputs.count, builder->graph.outputs.count, &next));
    uint32_t ends = (uint32_t)builder->model->inputs + builder->model->outputs;
    for (uint32_t i = 0; i < ends; i++) {
        struct operand operand;
        struct end end = get_end(builder, i);
        TRY(find_end(builder, &end, &operand));
        if (end.tensor > UINT16_MAX) {
            return refuse_end(builder, &end, &operand.tensor, ETHOSU_MODEL_UNSUPPORTED,
                              "has a number above 65535");
        }
        if (!builder->loading) {
            struct tflite_channels channels; // also checked by ethosu_model_get_tensor()
            TRY(build_get_channels(builder, end.tensor, &operand.tensor, &channels));
        } else {
            *next++ =
                (struct ethosu_model_buffer){operand.data, operand.tensor.size,
                                             (uint16_t)end.tensor, (uint16_t)operand.tensor.type};
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Does the list contain the tensor? */
static int find_in(struct builder *builder, const struct fb_vector *list, uint32_t tensor,
                   bool *found)
{
    for (uint32_t i = 0; i < list->count && !*found; i++) {
        TRY(build_work_at(builder, i));
        *found = fb_u32_at(&builder->file.fb, list, i) == tensor;
    }
    return ETHOSU_MODEL_OK;
}

/** Does the caller or an operator write an output? The last operators are the most likely. */
static int find_writer(struct builder *builder, uint32_t tensor, bool *found)
{
    const struct tflite_operator_call *call;
    *found = false;
    TRY(find_in(builder, &builder->graph.inputs, tensor, found));
    for (uint32_t i = builder->graph.operators.count; i-- > 0 && !*found;) {
        TRY(build_work(builder, 2));
        TRY(build_get_operator(builder, i, &call));
        TRY(find_in(builder, &call->outputs, tensor, found));
    }
    return ETHOSU_MODEL_OK;
}

/** Copy a constant output in each inference: the caller may write to its memory. */
static int copy_output(struct builder *builder, uint32_t end, const struct tflite_tensor *tensor)
{
    const struct ethosu_model_buffer *buffers = model_buffers(builder->model);
    struct step step = {.run = step_copy};
    if (builder->loading && buffers[end].size != tensor->size) {
        return build_bad_tensor(builder, buffers[end].tensor); // the file has changed
    }
    step.copy.destination = builder->loading ? buffers[end].data : NULL;
    step.copy.source = tensor->data;
    step.copy.size = tensor->size;
    return build_step(builder, &step);
}

/**
 * Complete the outputs after the last operator: copy the constant ones, and reject those that
 * nothing writes, as their memory holds data of other programs.
 */
static int build_outputs(struct builder *builder)
{
    const uint32_t inputs = builder->graph.inputs.count;
    if (!builder->loading && builder->kernels == NULL && !builder->constant_outputs) {
        return ETHOSU_MODEL_OK; // loading checks them
    }
    for (uint32_t i = 0; i < builder->graph.outputs.count; i++) {
        struct tflite_tensor tensor;
        struct end end = get_end(builder, inputs + i);
        if (!build_get_tensor(builder, end.tensor, &tensor)) {
            return build_bad_tensor(builder, end.tensor);
        }
        bool written = tensor.variable != 0;
        if (tensor.data != NULL) {
            TRY(copy_output(builder, inputs + i, &tensor));
        } else if (!written) {
            TRY(find_writer(builder, end.tensor, &written));
        }
        if (tensor.data == NULL && !written) {
            return refuse_end(builder, &end, &tensor, ETHOSU_MODEL_BAD_FILE,
                              "is never written: Vela drops the values of constant outputs, which "
                              "`ethosu compile MODEL.tflite` keeps");
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Prepare all operators: of the main graph, and of the subgraphs that initialise it. */
static int build_graphs(struct builder *builder)
{
    TRY(build_graph(builder, builder->main_graph));
    TRY(schedule_end(builder));
    TRY(build_outputs(builder));
    for (uint32_t named = builder->initialisers; named != 0; named &= named - 1) {
        TRY(build_graph(builder, (uint32_t)__builtin_ctz(named)));
    }
    return ETHOSU_VARIABLES ? build_zero_variables(builder) : ETHOSU_MODEL_OK;
}

/** Was the model never compiled? A file with a plan may run only on the CPU, or need no operator.
 */
static bool uncompiled(struct builder *builder)
{
    const struct tflite *file = &builder->file;
    bool no_operators =
        builder->graph_index == builder->main_graph && builder->graph.operators.count == 0;
    bool planned = file->plan.count != 0 || (file->offset_count != 0 && no_operators);
    return !planned && !tflite_is_compiled(&builder->file);
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
                      tflite_find_offsets(file, 0);
    }
    return cache->open && tflite_get_subgraph(file, 0, &builder->graph);
}

/** Make the subgraph of a signature the main graph. */
static int choose_signature(struct builder *builder, const char *name)
{
    struct fb_vector list = tflite_get_signatures(&builder->file);
    struct tflite_signature signature = {{NULL, 0}, 0};
    bool found = false;
    for (uint32_t i = 0; i < list.count && !found; i++) {
        TRY(build_work(builder, WORK_OF_OPERATOR));
        if (!tflite_get_signature(&builder->file, &list, i, &signature)) {
            return refuse_damage(builder);
        }
        found = tflite_text_is(signature.name, name);
    }
    if (!found) {
        return refuse_signature(builder, name);
    }
    if (signature.subgraph >= MAX_SUBGRAPHS) {
        return error_set(builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "signature \"%s\" is subgraph %u, expected at most %u", name,
                         (unsigned)signature.subgraph, MAX_SUBGRAPHS - 1);
    }
    builder->main_graph = signature.subgraph;
    builder->model->method = (uint8_t)signature.subgraph;
    if (signature.subgraph == 0) {
        return ETHOSU_MODEL_OK;
    }
    TRY(build_enter_graph(builder, signature.subgraph));
    return tflite_find_offsets(&builder->file, signature.subgraph) ? ETHOSU_MODEL_OK
                                                                   : refuse_damage(builder);
}

static int open_file(struct builder *builder, const struct ethosu_model_source *source)
{
    struct ethosu_model_error *error = builder->error;
    struct tflite *file = &builder->file;
    if (!open_tables(builder, source)) {
        return refuse_damage(builder);
    }
    if (source->method != NULL) {
        TRY(choose_signature(builder, source->method));
    }
    if (file->offset_count < file->offset_first + builder->graph.tensors.count) {
        return uncompiled(builder)
                   ? refuse_uncompiled(builder)
                   : error_set(error, ETHOSU_MODEL_BAD_FILE,
                               "OfflineMemoryAllocation has %u offsets for %u tensors",
                               (unsigned)file->offset_count,
                               (unsigned)(file->offset_first + builder->graph.tensors.count));
    }
    return ETHOSU_MODEL_OK;
}

/** Read the file and build the plan, stage by stage. */
static int build_stages(struct builder *builder, const struct ethosu_model_source *source)
{
    TRY(open_file(builder, source));
    TRY(build_find_fast_tensor(builder));
    TRY(build_tensors(builder));
    TRY(plan_open(builder));
    TRY(build_io(builder)); // after the plan, because ends without a place in it follow it
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
        status = refuse_uncompiled(builder);
    }
    builder->variables = NULL; // the table ends with this function
    return status;
}

const struct model_format tflite_format = {
    .build = build,
    .refuse = tflite_refuse,
};
