// SPDX-License-Identifier: MIT
/** Describes a `.tflite` file, rereading it on request. */
#include "runtime/file/checked.h"
#include "runtime/tflite/tflite_format.h"

#include <string.h>

/** Reopen the file. It was valid when the model was loaded, and each read is bounded. */
static bool open_tensor(const struct ethosu_model *model, uint32_t index, struct tflite *file,
                        struct tflite_tensor *tensor)
{
    struct tflite_subgraph graph;
    return tflite_open(file, model->file, model->file_size) &&
           tflite_enter_subgraph(file, model->method, &graph) && index < graph.tensors.count &&
           tflite_get_tensor(file, &graph, index, tensor);
}

/** An input or output without a place in the plan has its memory after the plan. */
static bool find_end(const struct ethosu_model *model, uint32_t index,
                     struct ethosu_model_tensor *tensor)
{
    const struct ethosu_model_buffer *buffers = model_buffers(model);
    for (uint32_t i = 0; i < (uint32_t)model->inputs + model->outputs; i++) {
        if (buffers[i].tensor == index) {
            tensor->data = buffers[i].data;
            return buffers[i].size == tensor->size; // else the file has changed
        }
    }
    return true;
}

static bool tflite_describe(const struct ethosu_model *model, uint32_t index,
                            struct ethosu_model_tensor *tensor)
{
    struct tflite file;
    struct tflite_tensor stored;
    if (!open_tensor(model, index, &file, &stored)) {
        return false;
    }
    struct tflite_text name = tflite_get_name(&file, &stored);
    *tensor = (struct ethosu_model_tensor){
        .name = name.bytes,
        .name_length = name.length,
        .type = stored.type,
        .size = stored.size,
        .rank = stored.shape.count,
        .data = stored.data,
    };
    for (uint32_t i = 0; i < stored.shape.count; i++) {
        tensor->shape[i] = (int32_t)fb_u32_at(&file.fb, &stored.shape, i);
        tensor->order[i] = (uint8_t)i;
    }
    struct tflite_channels channels;
    if (!tflite_get_channels(&file, &stored, &channels)) {
        return false;
    }
    tensor->channels = channels.count;
    tensor->axis = channels.axis;
    tflite_get_channel(&file, &stored, 0, &tensor->scale, &tensor->zero_point);
    int32_t offset =
        tflite_find_offsets(&file, model->method) ? tflite_get_offset(&file, index) : -1;
    if (stored.data == NULL && offset >= 0 &&
        checked_range((uint32_t)offset, stored.size, model->arena_size)) {
        tensor->data = model->arena + offset;
    }
    return offset >= 0 || find_end(model, index, tensor);
}

static bool tflite_describe_channel(const struct ethosu_model *model, uint32_t index,
                                    uint32_t channel, float *scale, int32_t *zero_point)
{
    struct tflite file;
    struct tflite_tensor stored;
    return open_tensor(model, index, &file, &stored) &&
           tflite_get_channel(&file, &stored, channel, scale, zero_point);
}

static uint32_t tflite_count_tensors(const struct ethosu_model *model)
{
    struct tflite file;
    struct tflite_subgraph graph = {0};
    if (tflite_open(&file, model->file, model->file_size)) {
        tflite_get_subgraph(&file, model->method, &graph);
    }
    return graph.tensors.count;
}

static bool describe_signature(const struct ethosu_model *model, uint32_t index,
                               struct ethosu_model_method *method)
{
    struct tflite file;
    struct tflite_signature signature;
    if (!tflite_open(&file, model->file, model->file_size)) {
        return false;
    }
    struct fb_vector list = tflite_get_signatures(&file);
    if (index >= list.count || !tflite_get_signature(&file, &list, index, &signature)) {
        return false;
    }
    *method = (struct ethosu_model_method){signature.name.bytes, signature.name.length, 0};
    return true;
}

const struct model_facts tflite_facts = {
    .get_method = describe_signature,
    .count_values = tflite_count_tensors,
    .get_tensor = tflite_describe,
    .get_channel = tflite_describe_channel,
    .get_metadata = tflite_get_metadata,
};
