// SPDX-License-Identifier: MIT
/** Reads a loaded program again. */
#include "executorch/build/program_builder.h"

#include <string.h>

bool program_open_again(const struct ethosu_model *model, struct program *program)
{
    return program_open(program, model->file, model->file_size) &&
           program_choose(program, model->method);
}

struct program_bytes program_called(struct program *program, uint32_t instruction,
                                    struct fb_vector *arguments)
{
    const struct program_instruction *call = program_get_instruction(program, instruction);
    struct program_bytes name;
    *arguments = (struct fb_vector){0};
    if (call == NULL || call->type != PROGRAM_KERNEL_CALL ||
        !program_get_operator(program, call->index, &name)) {
        return (struct program_bytes){0};
    }
    *arguments = call->arguments;
    return name;
}

bool program_ends_with(struct program_bytes text, const char *ending)
{
    uint32_t length = (uint32_t)strlen(ending);
    return text.size > length && fb_same(text.data + text.size - length, ending, length);
}
