// SPDX-License-Identifier: MIT
/**
 * Control flow instructions. MoveCall, which assigns a value to another one, is a copy here.
 * JumpFalseCall jumps forwards if a Bool or an element of a tensor is false. Backward jumps are
 * rejected, so that each inference ends.
 */
#include "executorch/build/program_builder.h"
#include "executorch/build/program_operators.h"

int program_copy(struct program_builder *program, const struct program_operand *from,
                 const struct program_operand *to)
{
    struct step step = {.run = step_copy};
    if (from->tensor.buffer != 0 && from->offset == to->offset) {
        return ETHOSU_MODEL_OK;
    }
    TRY(program_check_apart(program, from, to));
    step.copy.destination = to->data;
    step.copy.source = from->data;
    step.copy.size = to->tensor.size;
    return build_step(program->builder, &step);
}

int control_move(struct program_builder *program, const struct program_instruction *call)
{
    struct program_operand from;
    struct program_operand to;
    TRY(program_operand(program, call->first, &from));
    TRY(program_operand(program, call->second, &to));
    const uint32_t rank = to.tensor.rank;
    if (to.tensor.buffer == 0 || from.tensor.type != to.tensor.type || from.tensor.rank != rank ||
        !fb_same(from.tensor.shape, to.tensor.shape, rank * sizeof to.tensor.shape[0]) ||
        !fb_same(from.tensor.order, to.tensor.order, rank)) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              "source and target differ in shape or type");
    }
    return program_copy(program, &from, &to);
}

int control_jump(struct program_builder *program, const struct program_instruction *call)
{
    struct program *file = &program->program;
    struct program_operand condition;
    struct step step = {.run = step_jump};
    bool is_true = false;
    if (call->second <= program->instruction || call->second > file->instructions.count) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "jumps backwards or past the end");
    }
    if (!program_get_bool(file, call->first, &is_true)) {
        TRY(program_operand(program, call->first, &condition));
        if (condition.tensor.type != ETHOSU_TYPE_BOOL) {
            return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "condition is not a bool");
        }
        step.jump.condition = condition.data;
        step.jump.size = condition.tensor.size;
    } else if (is_true) {
        return ETHOSU_MODEL_OK;
    }
    if (program->jump_count == PROGRAM_MAX_JUMPS) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED, "too many pending jumps");
    }
    program->jumps[program->jump_count++] =
        (struct open_jump){program->builder->model->step_count, call->second};
    return build_step(program->builder, &step);
}

void control_resolve_jumps(struct program_builder *program, uint32_t instruction)
{
    struct ethosu_model *model = program->builder->model;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < program->jump_count; i++) {
        struct open_jump jump = program->jumps[i];
        if (jump.destination != instruction) {
            program->jumps[kept++] = jump;
        } else if (program->builder->loading) {
            model->steps[jump.step].jump.target = model->step_count;
        }
    }
    program->jump_count = kept;
}
