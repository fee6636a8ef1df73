// SPDX-License-Identifier: MIT
/**
 * Determines how a program uses its tensors, in one pass over its instructions.
 *
 * Inputs and outputs of delegates need no copy if they can be placed in the delegate's
 * memory instead of the planned buffer. Otherwise each run would copy them, and the arena
 * would hold them twice. This is safe under two conditions:
 * - no other delegate runs between the write of the tensor and its last use,
 *   because all delegates share one scratch;
 * - no other tensor refers to the same bytes. A view is a tensor at the place of
 *   another one that no instruction writes.
 *
 * Instructions are counted from 1. The caller's writes count as instruction 0, and its reads
 * come after the last instruction.
 */
#include "executorch/build/program_builder.h"
#include "runtime/kernels/shared/kernel.h"

/** An instruction's arguments; those from `written` on are outputs, the others inputs. */
struct arguments {
    struct fb_vector list;
    uint32_t written;
};

/** Read an instruction's arguments; false if it has none or is malformed. */
static bool get_arguments(struct program_builder *program, uint32_t instruction,
                          struct arguments *arguments)
{
    const uint32_t place = (instruction - 1) % PROGRAM_DELEGATES;
    *arguments = (struct arguments){0};
    if (instruction == 0) {
        arguments->list = program->program.method.inputs; // the caller writes them
        return true;
    }
    struct program_instruction *call = program_get_instruction(&program->program, instruction - 1);
    if (call == NULL) {
        return false;
    }
    arguments->list = call->arguments;
    if (call->type == PROGRAM_KERNEL_CALL) {
        uint32_t written = program_written(program, call);
        arguments->written = call->arguments.count - written;
        return written != 0 && written <= call->arguments.count;
    }
    if (call->type == PROGRAM_FREE_CALL) {
        return true; // no arguments
    }
    if (call->type != PROGRAM_DELEGATE_CALL ||
        (program->sizes[place].instruction != instruction &&
         delegate_open(program, instruction - 1, call) != ETHOSU_MODEL_OK)) {
        return false;
    }
    arguments->written = program->sizes[place].inputs;
    return true;
}

/** Do two ranges of bytes overlap? */
static bool overlap(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
    return a < b + b_size && b < a + a_size;
}

/** Does one range of bytes contain another? */
static bool covers(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size)
{
    return a <= b && b + b_size <= a + a_size;
}

/** Location of a tensor in planned memory. */
struct range {
    uint32_t buffer;
    uint32_t start;
    uint32_t size;
};

/* ---- writers ---- */

/**
 * Does the caller or one instruction before `end` write all bytes of a tensor? With `value`, it
 * must write this value; otherwise the value is a view.
 */
static int find_write(struct program_builder *program, const struct range *range, uint32_t value,
                      uint32_t end, bool *found)
{
    struct program *file = &program->program;
    struct arguments arguments;
    *found = false;
    for (uint32_t i = 0; i < end && !*found; i++) {
        if (!get_arguments(program, i, &arguments)) {
            return ETHOSU_MODEL_OK;
        }
        TRY(build_work(program->builder, WORK_OF_OPERATOR + arguments.list.count));
        for (uint32_t j = arguments.written; j < arguments.list.count && !*found; j++) {
            const struct program_tensor *other;
            uint32_t written = fb_u32_at(&file->fb, &arguments.list, j);
            *found = value != NEVER
                         ? written == value
                         : program_get_tensor(file, written, &other) == PROGRAM_TENSOR_OK &&
                               other->buffer == range->buffer &&
                               covers(other->offset, other->size, range->start, range->size);
        }
    }
    return ETHOSU_MODEL_OK;
}

/* ---- one argument ---- */

static void note_write(struct program_builder *program, uint32_t value, uint32_t instruction)
{
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        struct in_place *place = &program->in_place[i];
        if (place->value == value) {
            place->possible &=
                place->is_output ? instruction == place->call : instruction < place->call;
            place->written = instruction;
        }
    }
}

/** Note that a tensor of planned memory is read; `stateful`: it has an initial value. */
static int note_tensor(struct program_builder *program, uint32_t value, uint32_t instruction,
                       const struct range *range, bool stateful)
{
    bool written = false;
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        struct in_place *place = &program->in_place[i];
        if (place->value == value) {
            place->possible &=
                place->is_output ? instruction > place->call : instruction == place->call;
            place->read = instruction;
            written |= place->written != NEVER;
        } else if (place->possible && place->buffer == range->buffer &&
                   overlap(place->start, place->size, range->start, range->size)) {
            uint32_t end = program->program.instructions.count + 1; // is it a view?
            TRY(find_write(program, range, value, end, &place->possible));
        }
    }
    program->keeps_state |= stateful;
    if (!written && !program->keeps_state) {
        TRY(find_write(program, range, NEVER, instruction, &written));
        program->keeps_state = !written;
    }
    return ETHOSU_MODEL_OK;
}

/** A value that is read: a tensor, a list of tensors, or something else. */
static int note_read(struct program_builder *program, uint32_t value, uint32_t instruction)
{
    struct program *file = &program->program;
    const struct program_tensor *tensor;
    enum program_tensor_fault fault = program_get_tensor(file, value, &tensor);
    struct fb_vector list;
    if (fault == PROGRAM_TENSOR_OK && tensor->buffer != 0) {
        const struct range range = {tensor->buffer, tensor->offset, tensor->size};
        return note_tensor(program, value, instruction, &range, tensor->data != NULL);
    }
    if (fault != PROGRAM_TENSOR_MANY || !program_get_tensors(file, value, &list)) {
        return ETHOSU_MODEL_OK;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        uint32_t element = fb_u32_at(&file->fb, &list, i);
        TRY(build_work(program->builder, 1 + program->in_place_count / 4));
        if (program_get_tensor(file, element, &tensor) != PROGRAM_TENSOR_MANY) {
            TRY(note_read(program, element, instruction));
        }
    }
    return ETHOSU_MODEL_OK;
}

/* ---- the decision ---- */

/** Do two tensors of different delegates need the same bytes at the same time? */
static bool conflict(const struct in_place *a, const struct in_place *b)
{
    return a->call != b->call && a->region == b->region && a->written <= b->read &&
           b->written <= a->read && overlap(a->offset, a->size, b->offset, b->size);
}

/** Keep the tensors that can be used in place. */
static void choose_in_place(struct program_builder *program)
{
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < program->in_place_count; i++) {
        const struct in_place *place = &program->in_place[i];
        // An output that the next delegate reads is copied, because each has its own place in
        // scratch.
        bool usable = place->possible && place->written != NEVER &&
                      (place->is_output ? place->read < place->after
                                        : place->before == 0 || place->written > place->before);
        for (uint32_t j = 0; j < kept_count && usable; j++) {
            usable = !conflict(place, &program->in_place[j]);
        }
        if (usable && kept_count++ != i) {
            program->in_place[kept_count - 1] = *place;
        }
    }
    program->in_place_count = kept_count;
}

int tensor_usage_read(struct program_builder *program)
{
    struct program *file = &program->program;
    uint32_t end = file->instructions.count + 1;
    struct arguments arguments;
    for (uint32_t i = 0; i < end; i++) {
        if (!get_arguments(program, i, &arguments)) {
            // Either the build will reject it, or it is control flow, and the order is unknown
            // here.
            program->in_place_count = 0;
            program->keeps_state = true;
            continue;
        }
        TRY(build_work(program->builder, WORK_OF_OPERATOR));
        TRY(build_work(program->builder,
                       kernel_bytes(arguments.list.count, 1 + program->in_place_count / 4)));
        for (uint32_t j = 0; j < arguments.list.count; j++) {
            uint32_t value = fb_u32_at(&file->fb, &arguments.list, j);
            if (j < arguments.written) {
                TRY(note_read(program, value, i));
            } else {
                note_write(program, value, i);
            }
        }
    }
    for (uint32_t i = 0; i < file->method.outputs.count; i++) {
        TRY(note_read(program, fb_u32_at(&file->fb, &file->method.outputs, i), end));
    }
    choose_in_place(program);
    return ETHOSU_MODEL_OK;
}
