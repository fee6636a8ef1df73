// SPDX-License-Identifier: MIT
/** Finds the operator that an instruction calls. */
#include "executorch/build/program_operators.h"
#include "driver/base/ethosu_count.h"

struct operator_row {
    const char *name;
    uint8_t length; /**< of the name */
    uint8_t written;
    prepare_operator prepare;
};

static const struct operator_row rows[] = {
#define PROGRAM_OPERATOR(name, written, prepare) {name, sizeof name - 1, written, prepare},
#include "executorch/operators.def"
#undef PROGRAM_OPERATOR
};

enum { ROWS = COUNT(rows) };

/** Find the row of an operator by name; ROWS if not found. */
static uint32_t search_rows(struct program_bytes name)
{
    uint32_t i = 0;
    // Most names of equal length differ in their last letters.
    while (i < ROWS && (name.size != rows[i].length ||
                        name.data[name.size - 1] != rows[i].name[name.size - 1] ||
                        !fb_same(name.data, rows[i].name, name.size))) {
        i++;
    }
    return i;
}

/** The row of the operator that an instruction calls; NULL if not found. */
static const struct operator_row *find_row(struct program_builder *program,
                                           struct program_instruction *call)
{
    struct program_bytes name;
    if (call->row == 0) {
        if (!program_get_operator(&program->program, call->index, &name)) {
            return NULL;
        }
        call->row = search_rows(name) + 1;
    }
    return call->row <= ROWS ? &rows[call->row - 1] : NULL;
}

uint32_t program_written(struct program_builder *program, struct program_instruction *call)
{
    const struct operator_row *row = find_row(program, call);
    return row == NULL ? 0 : row->written;
}

int program_operator(struct program_builder *program, struct program_instruction *call)
{
    const struct operator_row *row = find_row(program, call);
    if (row == NULL) {
        return program_refuse(program, ETHOSU_MODEL_UNSUPPORTED,
                              program->program.method.delegates.count == 0
                                  ? "operator is not in this build, and none runs on the NPU: "
                                    "export with EthosUPartitioner"
                                  : "operator is not in this build");
    }
    if (call->arguments.count < row->written + 1u) {
        return program_refuse(program, ETHOSU_MODEL_BAD_FILE, "too few arguments");
    }
    program->explicit_nhwc = fb_is_mark((const uint8_t *)row->name + row->length - 4, "nhwc");
    return row->prepare(program, &call->arguments);
}
