// SPDX-License-Identifier: MIT
/** Facts about a loaded model. */
#include "format.h"

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

bool ethosu_model_get_tensor(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor)
{
    return model->format->get_tensor(model, index, tensor);
}

bool ethosu_model_get_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point)
{
    return model->format->get_channel(model, index, channel, scale, zero_point);
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
    *info = (struct ethosu_model_info){
        .inputs = model->inputs,
        .outputs = model->outputs,
        .tensors = model->format->count_tensors(model),
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
