// SPDX-License-Identifier: MIT
/**
 * How a program uses its tensors.
 *
 * Inputs and outputs of delegates need no copy if they may lie in the delegate's
 * memory instead of the planned buffer. That is right if nobody else sees the difference:
 * - no other delegate runs between the write of the tensor and its last use,
 *   since all delegates share one scratch;
 * - no other tensor stands for the same bytes. A view is a tensor at the place of
 *   another one, which no instruction writes.
 */
#include "build_program.h"

#define NEVER UINT32_MAX

/** An argument of the delegate that asks, and how the other instructions use it. */
struct candidate {
    uint32_t value;
    struct program_tensor tensor;
    uint32_t delegate; /**< its instruction */
    bool is_output;
    uint32_t delegate_before; /**< instruction behind the last other delegate before it */
    uint32_t delegate_after;  /**< the next other delegate's instruction; NEVER: there is none */
    uint32_t written;         /**< instruction behind the one that writes it; NEVER: none does */
    uint32_t read;            /**< the last instruction that reads it */
    bool possible;
};

/** An instruction's arguments: from `written` on it writes them, the others it reads. */
struct arguments {
    struct fb_vector list;
    uint32_t written;
};

/** Read an instruction's arguments; false: it is none with arguments, or it is malformed. */
static bool get_arguments(struct program_builder *program, uint32_t instruction,
                          struct arguments *arguments, bool *is_delegate)
{
    struct program_instruction call;
    struct delegate_call delegate;
    if (!program_get_instruction(&program->program, instruction, &call) ||
        call.type > PROGRAM_DELEGATE_CALL) {
        return false;
    }
    arguments->list = call.arguments;
    *is_delegate = call.type == PROGRAM_DELEGATE_CALL;
    uint32_t place = instruction % PROGRAM_DELEGATES;
    if (*is_delegate && program->sizes[place].instruction == instruction + 1) {
        arguments->written = program->sizes[place].inputs;
        return true;
    }
    if (*is_delegate) {
        if (delegate_open(program, instruction, &call, &delegate) != ETHOSU_MODEL_OK) {
            return false;
        }
        arguments->written = delegate.binary.inputs;
        return true;
    }
    uint32_t written = program_written(program, &call);
    arguments->written = call.arguments.count - written;
    return written != 0 && written <= call.arguments.count;
}

static bool contains(struct program *program, const struct fb_vector *list, uint32_t first,
                     uint32_t value)
{
    for (uint32_t i = first; i < list->count; i++) {
        if (fb_u32_at(&program->fb, list, i) == value) {
            return true;
        }
    }
    return false;
}

/** Does the program's caller or an instruction write this value? Else it is a view. */
static bool is_written(struct program_builder *program, uint32_t value)
{
    struct program *file = &program->program;
    struct arguments arguments;
    bool is_delegate;
    bool written = contains(file, &file->inputs, 0, value);
    for (uint32_t i = 0; i < file->instructions.count && !written; i++) {
        written = get_arguments(program, i, &arguments, &is_delegate) &&
                  contains(file, &arguments.list, arguments.written, value);
    }
    return written;
}

/** Do two tensors share bytes of a planned buffer? */
static bool share(const struct program_tensor *a, const struct program_tensor *b)
{
    return a->buffer == b->buffer && a->buffer != 0 && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

/** Is another value, which is read, a view of the candidate? */
static bool is_view(struct program_builder *program, const struct candidate *candidate,
                    uint32_t value)
{
    struct program_tensor other;
    return program_get_tensor(&program->program, value, &other) == PROGRAM_TENSOR_OK &&
           share(&candidate->tensor, &other) && !is_written(program, value);
}

static void note_read(struct program_builder *program, struct candidate *candidate, uint32_t value,
                      uint32_t instruction)
{
    if (value != candidate->value) {
        candidate->possible = candidate->possible && !is_view(program, candidate, value);
    } else if (candidate->is_output) {
        candidate->possible = candidate->possible && instruction > candidate->delegate;
        candidate->read = instruction > candidate->read ? instruction : candidate->read;
    } else {
        candidate->possible = candidate->possible && instruction == candidate->delegate;
    }
}

static void note_write(struct candidate *candidate, uint32_t instruction)
{
    bool right = candidate->is_output ? instruction == candidate->delegate
                                      : instruction < candidate->delegate;
    candidate->possible = candidate->possible && right;
    candidate->written = instruction + 1;
}

static int note_instruction(struct program_builder *program, struct candidate *candidate,
                            uint32_t instruction)
{
    struct fb_vector *list;
    struct arguments arguments;
    bool is_delegate = false;
    if (!get_arguments(program, instruction, &arguments, &is_delegate)) {
        candidate->possible = false; // the build refuses it, or it is control flow
        return ETHOSU_MODEL_OK;
    }
    list = &arguments.list;
    TRY(build_work(program->builder, WORK_OF_OPERATOR + list->count));
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t value = fb_u32_at(&program->program.fb, list, i);
        if (i < arguments.written) {
            note_read(program, candidate, value, instruction);
        } else if (value == candidate->value) {
            note_write(candidate, instruction);
        }
    }
    if (is_delegate && instruction < candidate->delegate) {
        candidate->delegate_before = instruction + 1;
    }
    if (is_delegate && instruction > candidate->delegate && candidate->delegate_after == NEVER) {
        candidate->delegate_after = instruction;
    }
    return ETHOSU_MODEL_OK;
}

/** What the program's caller writes and reads. */
static void note_ends(struct program_builder *program, struct candidate *candidate)
{
    struct program *file = &program->program;
    if (contains(file, &file->inputs, 0, candidate->value)) {
        candidate->possible = candidate->possible && !candidate->is_output;
        candidate->written = 0;
    }
    for (uint32_t i = 0; i < file->outputs.count; i++) {
        uint32_t value = fb_u32_at(&file->fb, &file->outputs, i);
        note_read(program, candidate, value, file->instructions.count);
    }
}

/** Do two tensors of different delegates need the same bytes at the same time? */
static bool collide(const struct in_place *a, const struct in_place *b)
{
    return a->delegate != b->delegate && a->first <= b->last && b->first <= a->last &&
           a->offset < b->offset + b->size && b->offset < a->offset + a->size;
}

int uses_allow_in_place(struct program_builder *program, const struct program_tensor *tensor,
                        bool is_output, struct in_place *place, bool *possible)
{
    struct candidate candidate = {
        .value = place->value,
        .tensor = *tensor,
        .delegate = place->delegate,
        .is_output = is_output,
        .delegate_after = NEVER,
        .written = NEVER,
        .possible = tensor->buffer != 0 && tensor->data == NULL,
    };
    note_ends(program, &candidate);
    uint32_t count = program->program.instructions.count;
    for (uint32_t i = 0; i < count && candidate.possible; i++) {
        TRY(note_instruction(program, &candidate, i));
    }
    // An output that the next delegate reads is copied: both have their own place in scratch.
    bool alone =
        is_output ? candidate.read < candidate.delegate_after
                  : candidate.delegate_before == 0 || candidate.written > candidate.delegate_before;
    *possible = candidate.possible && candidate.written != NEVER && alone;
    place->first = candidate.written == 0 ? 0 : candidate.written - 1;
    place->last = is_output ? candidate.read : candidate.delegate;
    for (uint32_t i = 0; i < program->in_place_count && *possible; i++) {
        *possible = !collide(place, &program->in_place[i]);
    }
    return ETHOSU_MODEL_OK;
}

/* ---- state ---- */

/** Do the instructions before this one, or the program's caller, write bytes of a tensor? */
static int find_write(struct program_builder *program, const struct program_tensor *tensor,
                      uint32_t end, bool *found)
{
    struct program *file = &program->program;
    struct arguments arguments = {.list = file->inputs};
    bool is_delegate;
    *found = false;
    for (uint32_t i = 0; i <= end && !*found; i++) {
        for (uint32_t j = arguments.written; j < arguments.list.count && !*found; j++) {
            struct program_tensor other;
            uint32_t value = fb_u32_at(&file->fb, &arguments.list, j);
            *found = program_get_tensor(file, value, &other) == PROGRAM_TENSOR_OK &&
                     share(tensor, &other);
        }
        TRY(build_work(program->builder, WORK_OF_OPERATOR + arguments.list.count));
        if (i < end && !get_arguments(program, i, &arguments, &is_delegate)) {
            return ETHOSU_MODEL_OK;
        }
    }
    return ETHOSU_MODEL_OK;
}

int uses_find_state(struct program_builder *program, bool *found)
{
    struct program *file = &program->program;
    struct arguments arguments;
    bool is_delegate;
    *found = false;
    for (uint32_t i = 0; i < file->instructions.count && !*found; i++) {
        if (!get_arguments(program, i, &arguments, &is_delegate)) {
            continue; // it has none
        }
        for (uint32_t j = 0; j < arguments.written && !*found; j++) {
            struct program_tensor tensor;
            uint32_t value = fb_u32_at(&file->fb, &arguments.list, j);
            bool written = true;
            if (program_get_tensor(file, value, &tensor) == PROGRAM_TENSOR_OK &&
                tensor.buffer != 0) {
                TRY(find_write(program, &tensor, i, &written));
            }
            *found = !written;
        }
    }
    return ETHOSU_MODEL_OK;
}
