// SPDX-License-Identifier: MIT
/** Describes a loaded model. */
#include "runtime/load/formats.h"
#include "runtime/load/metadata.h"

/** The facts of the model's format. */
static const struct model_facts *model_facts(const struct ethosu_model *model)
{
#if ETHOSU_PTE
    if (model->format == &program_format) {
        return &program_facts;
    }
#endif
    (void)model;
    return &tflite_facts;
}

const void *ethosu_model_file(const struct ethosu_model *model)
{
    return model->file;
}

const struct ethosu_model_buffer *ethosu_model_inputs(const struct ethosu_model *model)
{
    return model_buffers(model);
}

const struct ethosu_model_buffer *ethosu_model_outputs(const struct ethosu_model *model)
{
    return model_buffers(model) + model->inputs;
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
    return model_is_one_call(model);
}

bool ethosu_model_get_tensor(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_tensor *tensor)
{
    return model_facts(model)->get_tensor(model, index, tensor);
}

bool ethosu_model_get_method(const struct ethosu_model *model, uint32_t index,
                             struct ethosu_model_method *method)
{
    return model_facts(model)->get_method(model, index, method);
}

bool ethosu_model_get_constant(const struct ethosu_model *model, uint32_t method, uint32_t index,
                               struct ethosu_model_constant *constant)
{
    const struct method_facts *methods = model_facts(model)->methods;
    return methods != NULL && methods->get_constant(model, method, index, constant);
}

bool ethosu_model_get_program(const struct ethosu_model *model,
                              struct ethosu_model_program *program, ethosu_model_operator_t *called,
                              void *argument)
{
    const struct method_facts *methods = model_facts(model)->methods;
    return methods != NULL && methods->get_program(model, program, called, argument);
}

bool ethosu_model_get_channel(const struct ethosu_model *model, uint32_t index, uint32_t channel,
                              float *scale, int32_t *zero_point)
{
    return model_facts(model)->get_channel(model, index, channel, scale, zero_point);
}

const void *ethosu_model_get_metadata(const struct ethosu_model *model, const char *name,
                                      uint32_t *size)
{
    *size = 0;
    return model_facts(model)->get_metadata(model, name, size);
}

static void measure_scratch(const struct npu_call *call, struct ethosu_model_info *info)
{
    const struct npu_base *bases = npu_bases(call); // constants, scratch, fast scratch
    uint32_t scratch = (uint32_t)bases[1].size;
    uint32_t fast = bases[2].data == bases[1].data ? 0 : (uint32_t)bases[2].size;
    info->scratch_size = scratch > info->scratch_size ? scratch : info->scratch_size;
    info->fast_scratch_size = fast > info->fast_scratch_size ? fast : info->fast_scratch_size;
}

/** An NPU call with overlapping CPU operators has two steps, its start and its end. */
static void count_steps(const struct ethosu_model *model, struct ethosu_model_info *info)
{
    bool overlapped = false;
    for (uint32_t i = 0; i < model->prologue; i++) {
        info->npu_init_calls += is_npu_step(&model->steps[i]);
    }
    for (uint32_t i = model->prologue; i < model->step_count; i++) {
        const struct step *step = &model->steps[i];
        bool npu = is_npu_step(step);
        overlapped = step->run == step_npu_start || (overlapped && step->run != step_npu_end);
        info->cpu_steps += !npu && step->run != step_npu_end;
        info->cpu_steps_overlapped += overlapped && !npu;
        if (npu) {
            measure_scratch(step->npu, info);
        }
    }
}

void ethosu_model_get_info(const struct ethosu_model *model, struct ethosu_model_info *info)
{
    *info = (struct ethosu_model_info){
        .inputs = model->inputs,
        .outputs = model->outputs,
        .values = model_facts(model)->count_values(model),
        .npu_calls = model->npu_calls,
        .arena_size = model->arena_size,
        .object_size = model->object_size,
        .copied_bytes = model->copied_bytes,
        .copied_from_afar = model->copied_from_afar,
        .keeps_state = model->init != NULL || model->prologue != 0,
    };
    const struct method_facts *methods = model_facts(model)->methods;
    info->tensors = methods == NULL ? info->values : methods->count_tensors(model);
    count_steps(model, info);
    struct ethosu_ext_payload payload;
    if (model->first_call != NULL &&
        ethosu_ext_parse_payload(model->first_call->payload, model->first_call->payload_size,
                                 &payload, NULL) == 0) {
        ethosu_ext_config_name(payload.config, info->npu);
    }
}
