// SPDX-License-Identifier: MIT
/** The operators without a kernel, and the walk over the graphs. */
#include "runtime/tflite/tflite_format.h"
#include "driver/base/ethosu_count.h"

#include "runtime/kernels/shared/kernel.h"
#include "runtime/plan/schedule.h"

static int prepare_reshape(struct builder *builder, const struct tflite_operator_call *call);

static const struct operator_kernel kernels[] = {
    {TFLITE_CUSTOM, prepare_npu, step_npu},
    {TFLITE_RESHAPE, prepare_reshape, step_copy},
    {TFLITE_SQUEEZE, prepare_reshape, step_copy},
    {TFLITE_EXPAND_DIMS, prepare_reshape, step_copy},
#if ETHOSU_VARIABLES
    {TFLITE_CALL_ONCE, prepare_call_once, NULL},
    {TFLITE_VAR_HANDLE, prepare_var_handle, NULL},
    {TFLITE_READ_VARIABLE, prepare_read_variable, step_copy},
    {TFLITE_ASSIGN_VARIABLE, prepare_assign_variable, step_copy},
#endif
};

static struct tflite_text name_of(const struct builder *builder)
{
    if (builder->operator_code == TFLITE_CUSTOM) {
        return builder->custom_name;
    }
#ifdef ETHOSU_MESSAGES_TERSE // the build has no names
    return (struct tflite_text){"?", 1};
#else
    return operator_name(builder->operator_code);
#endif
}

int tflite_refuse(struct builder *builder, int status, const char *why)
{
    struct tflite_text name = name_of(builder);
    return (error_set)(builder->error, status, "operator %u (%.*s) of subgraph %u: %s",
                       (unsigned)builder->operator_index, (int)name.length, name.bytes,
                       (unsigned)builder->graph_index, why);
}

/** Only the shape changes, so a copy is needed only if the offsets differ. */
static int prepare_reshape(struct builder *builder, const struct tflite_operator_call *call)
{
    struct operand input;
    struct operand output;
    TRY(build_find_operand(builder, &call->inputs, 0, &input));
    TRY(build_find_operand(builder, &call->outputs, 0, &output));
    if (input.offset == output.offset) {
        return ETHOSU_MODEL_OK;
    }
    int64_t distance = (int64_t)input.offset - output.offset;
    uint64_t apart = (uint64_t)(distance < 0 ? -distance : distance);
    if (output.offset < 0 || input.tensor.size != output.tensor.size ||
        (input.offset >= 0 && apart < output.tensor.size)) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE,
                            "input and output differ in size or overlap");
    }
    return build_copy(builder, (uint32_t)output.offset, input.data, input.tensor.size);
}

/** The row of an operator without a kernel; NULL if a kernel computes it. */
static const struct operator_kernel *find_kernel(const struct tflite_operator_call *call)
{
    if (call->code == TFLITE_CUSTOM && !call->npu) {
        return NULL;
    }
    for (size_t i = 0; i < COUNT(kernels); i++) {
        if (kernels[i].code == call->code) {
            return &kernels[i];
        }
    }
    return NULL;
}

int build_operator(struct builder *builder, uint32_t index)
{
    const struct tflite_operator_call *call;
    builder->operator_index = index;
    TRY(build_get_operator(builder, index, &call));
    builder->operator_code = call->code;
    builder->custom_name = call->custom;
    builder->kernel = find_kernel(call);
    TRY(build_work(builder, WORK_OF_OPERATOR + call->inputs.count + call->outputs.count));
    TRY(schedule_operator(builder, call));
    if (builder->kernel != NULL) {
        return builder->kernel->prepare(builder, call);
    }
    const struct kernel *kernel = kernel_find(call);
    if (kernel == NULL) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "Vela left it to the CPU, and this build has no kernel for it; "
                            "run: make firmware ETHOSU_KERNELS=all");
    }
    if (builder->graph_index != builder->main_graph) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "CPU kernels can't initialise variables");
    }
    return kernel->prepare(builder, call, kernel);
}

int build_graph(struct builder *builder, uint32_t index)
{
    builder->variables->handle_count = 0;
    if (index != builder->main_graph) { // the main graph was read when the file was opened
        TRY(build_enter_graph(builder, index));
    }
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        TRY(build_operator(builder, i));
    }
    return ETHOSU_MODEL_OK;
}
