// SPDX-License-Identifier: MIT
/**
 * Resource variables: state that a streaming model keeps between inferences.
 *
 * VAR_HANDLE names a variable, READ_VARIABLE copies it into a tensor,
 * ASSIGN_VARIABLE copies a tensor into it. The variables are in the arena after
 * Vela's tensors. Handles exist only while the model is loaded.
 */
#include "runtime/tflite/tflite_format.h"

/** Fields of the options of VAR_HANDLE and CALL_ONCE. */
enum { VAR_HANDLE_SHARED_NAME = 1, CALL_ONCE_SUBGRAPH = 0 };

/** Find or add the variable with this name; NULL if there are too many. */
static struct variable *find_variable(struct builder *builder, struct tflite_text name)
{
    struct variable_table *known = builder->variables;
    for (uint32_t i = 0; i < known->count; i++) {
        if (tflite_text_equal(known->list[i].name, name)) {
            return &known->list[i];
        }
    }
    if (known->count == MAX_VARIABLES) {
        return NULL;
    }
    struct variable *variable = &known->list[known->count++];
    *variable = (struct variable){.name = name};
    return variable;
}

int prepare_var_handle(struct builder *builder, const struct tflite_operator_call *call)
{
    struct tflite_text name =
        tflite_get_text(&builder->file, call->options, VAR_HANDLE_SHARED_NAME);
    TRY(build_work(builder, name.length / 4)); // for the comparison
    struct variable *variable = find_variable(builder, name);
    struct variable_table *known = builder->variables;
    if (variable == NULL || known->handle_count == MAX_VARIABLES) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED,
                            "the model has more than 48 variables");
    }
    if (call->outputs.count == 0) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "no output");
    }
    known->handles[known->handle_count++] =
        (struct handle){fb_u32_at(&builder->file.fb, &call->outputs, 0), variable};
    return ETHOSU_MODEL_OK;
}

/** The variable that an operator's first input refers to; NULL if it is not a handle. */
static struct variable *variable_of(struct builder *builder,
                                    const struct tflite_operator_call *call)
{
    uint32_t tensor = fb_u32_at(&builder->file.fb, &call->inputs, 0);
    const struct variable_table *known = builder->variables;
    for (uint32_t i = 0; i < known->handle_count; i++) {
        if (known->handles[i].tensor == tensor) {
            return known->handles[i].variable;
        }
    }
    return NULL;
}

/** Check that variable and tensor have the same size; the first tensor sets the variable's. */
static int match(struct builder *builder, struct variable *variable, const struct operand *operand)
{
    if (variable == NULL) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "first input is not from a VAR_HANDLE");
    }
    uint32_t size = operand->tensor.size;
    if (variable->size == 0 && size != 0) {
        variable->size = size;
        return build_reserve(builder, size, &variable->offset);
    }
    if (variable->size != size || size == 0) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "tensor and variable differ in size");
    }
    return ETHOSU_MODEL_OK;
}

int prepare_read_variable(struct builder *builder, const struct tflite_operator_call *call)
{
    struct operand output;
    struct variable *variable = variable_of(builder, call);
    TRY(build_find_operand(builder, &call->outputs, 0, &output));
    TRY(match(builder, variable, &output));
    if (output.offset < 0) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "output is constant");
    }
    void *state;
    TRY(build_address(builder, variable->offset, variable->size, &state));
    return build_copy(builder, (uint32_t)output.offset, state, variable->size);
}

int prepare_assign_variable(struct builder *builder, const struct tflite_operator_call *call)
{
    struct operand input;
    struct variable *variable = variable_of(builder, call);
    TRY(build_find_operand(builder, &call->inputs, 1, &input));
    TRY(match(builder, variable, &input));
    variable->initialised |= builder->graph_index != builder->main_graph;
    return build_copy(builder, variable->offset, input.data, variable->size);
}

int build_zero_variables(struct builder *builder)
{
    for (uint32_t i = 0; i < builder->variables->count; i++) {
        const struct variable *variable = &builder->variables->list[i];
        if (!variable->initialised && variable->size != 0) {
            TRY(build_fill(builder, variable->offset, variable->size, 0));
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Build a subgraph of one NPU operator, whose steps come before all others. */
static int build_prologue(struct builder *builder)
{
    struct step end = {.run = step_initialised};
    builder->in_prologue = true;
    TRY(build_operator(builder, 0));
    TRY(build_step(builder, &end));
    builder->in_prologue = false;
    builder->model->prologue = builder->model->step_count;
    return ETHOSU_MODEL_OK;
}

/**
 * Initialise variables. Vela leaves this to the CPU, which does it when the
 * model is loaded. For Ethos-U85, Vela may generate one NPU operator, which runs
 * at the start of the first inference.
 */
int prepare_call_once(struct builder *builder, const struct tflite_operator_call *call)
{
    uint32_t index = fb_scalar(&builder->file.fb, call->options,
                               (struct fb_field)FB_WORD(CALL_ONCE_SUBGRAPH), 0);
    if (builder->graph_index != builder->main_graph || index == builder->main_graph ||
        index >= MAX_SUBGRAPHS) {
        return build_refuse(builder, ETHOSU_MODEL_UNSUPPORTED, "its subgraph can't be used");
    }
    if ((builder->called >> index & 1) != 0) {
        return ETHOSU_MODEL_OK; // once is enough
    }
    builder->called |= 1u << index;
    uint32_t operator_index = builder->operator_index;
    const struct tflite_operator_call *first;
    TRY(build_enter_graph(builder, index));
    bool alone = builder->graph.operators.count == 1 && builder->model->step_count == 0;
    if (alone) {
        TRY(build_get_operator(builder, 0, &first));
        alone = first->npu;
    }
    if (alone) {
        TRY(build_prologue(builder));
    } else {
        builder->initialisers |= 1u << index;
    }
    builder->operator_index = operator_index;
    return build_enter_graph(builder, builder->main_graph);
}
