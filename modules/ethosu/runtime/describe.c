// SPDX-License-Identifier: MIT
/** Facts about a loaded model, read from its file on request. */
#include "checked.h"
#include "model.h"
#include "tflite.h"

#include <string.h>

const struct ethosu_model_buffer *ethosu_model_inputs(const struct ethosu_model *model)
{
    return model->buffers;
}

const struct ethosu_model_buffer *ethosu_model_outputs(const struct ethosu_model *model)
{
    return model->buffers + model->inputs;
}

uint32_t ethosu_model_input_count(const struct ethosu_model *model)
{
    return model->inputs;
}

uint32_t ethosu_model_output_count(const struct ethosu_model *model)
{
    return model->outputs;
}

bool ethosu_model_is_one_call(const struct ethosu_model *model)
{
    return model->step_count == 1 && model->npu_calls == 1;
}

/** Open the file again: it was valid when the model was loaded, and each read is bounded. */
static bool open_tensor(const struct ethosu_model *model, uint32_t index, struct tflite *file,
                        struct tflite_tensor *tensor)
{
    struct tflite_subgraph graph;
    return tflite_open(file, model->file, model->file_size) &&
           tflite_get_subgraph(file, 0, &graph) && index < graph.tensors.count &&
           tflite_get_tensor(file, &graph, index, tensor);
}

bool ethosu_model_get_tensor(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor)
{
    struct tflite file;
    struct tflite_tensor found;
    if (!open_tensor(model, index, &file, &found)) {
        return false;
    }
    struct tflite_text name = tflite_get_name(&file, &found);
    *tensor = (struct ethosu_model_tensor){
        .name = name.bytes,
        .name_length = name.length,
        .type = found.type,
        .size = found.size,
        .rank = found.shape.count,
        .data = found.data,
    };
    for (uint32_t i = 0; i < found.shape.count; i++) {
        tensor->shape[i] = (int32_t)fb_u32_at(&file.fb, &found.shape, i);
    }
    struct tflite_channels channels;
    if (!tflite_get_channels(&file, &found, &channels)) {
        return false;
    }
    tensor->channels = channels.count;
    tensor->axis = channels.axis;
    tflite_get_channel(&file, &found, 0, &tensor->scale, &tensor->zero_point);
    int32_t offset = tflite_find_offsets(&file) ? tflite_get_offset(&file, index) : -1;
    if (found.data == NULL && offset >= 0 &&
        checked_range((uint32_t)offset, found.size, model->arena_size)) {
        tensor->data = model->arena + offset;
    }
    return true;
}

bool ethosu_model_get_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point)
{
    struct tflite file;
    struct tflite_tensor found;
    return open_tensor(model, index, &file, &found) &&
           tflite_get_channel(&file, &found, channel, scale, zero_point);
}

/** An NPU call with overlapping CPU operators has two steps, its start and its end. */
static void count_steps(const struct ethosu_model *model, struct ethosu_model_info *info)
{
    bool overlapped = false;
    for (uint32_t i = model->prologue; i < model->step_count; i++) {
        const struct step *step = &model->steps[i];
        bool npu = is_npu_step(step);
        overlapped = step->run == step_npu_start || (overlapped && step->run != step_npu_end);
        info->cpu_steps += !npu && step->run != step_npu_end;
        info->cpu_steps_overlapped += overlapped && !npu;
    }
}

void ethosu_model_get_info(const struct ethosu_model *model, struct ethosu_model_info *info)
{
    struct tflite file;
    struct tflite_subgraph graph = {0};
    if (tflite_open(&file, model->file, model->file_size)) {
        tflite_get_subgraph(&file, 0, &graph);
    }
    *info = (struct ethosu_model_info){
        .inputs = model->inputs,
        .outputs = model->outputs,
        .tensors = graph.tensors.count,
        .npu_calls = model->npu_calls,
        .npu_init_calls = model->npu_init_calls,
        .arena_size = model->arena_size,
        .object_size = model->object_size,
        .copied_bytes = model->copied_bytes,
    };
    count_steps(model, info);
    struct ethosu_ext_payload payload;
    if (model->first_call != NULL &&
        ethosu_ext_parse_payload(model->first_call->payload, model->first_call->payload_size,
                                 &payload, NULL) == 0) {
        ethosu_ext_config_name(payload.config, info->npu);
    }
}
