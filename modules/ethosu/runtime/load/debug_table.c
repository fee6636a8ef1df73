// SPDX-License-Identifier: MIT
/** Finds the operator that a command belongs to; see debug_table.h. */
#include "runtime/load/debug_table.h"

#include "runtime/file/failure.h"
#include "runtime/load/metadata.h"
#include "runtime/run/model.h"

/** Number of the NPU call whose program the driver ran last; the number of calls if not found. */
static uint32_t failed_call(const struct ethosu_model *model)
{
    const struct ethosu_ext_program *last = ethosu_ext_last_program(model->driver);
    uint32_t number = 0;
    for (uint32_t i = model->prologue; i < model->step_count; i++) {
        if (is_npu_step(&model->steps[i])) {
            if (&model->steps[i].npu->program == last) {
                break;
            }
            number++;
        }
    }
    return number;
}

const char *ethosu_model_operator_at(const struct ethosu_model *model, uint32_t offset,
                                     uint32_t *length)
{
    uint32_t size;
    const char *table = ethosu_model_get_metadata(model, "ethosu_debug", &size);
    uint32_t rows = table == NULL ? UINT32_MAX : debug_table_rows(table, size);
    if (model->driver == NULL || rows == UINT32_MAX) {
        return NULL;
    }
    uint32_t call = failed_call(model);
    for (uint32_t i = 0; i < rows && debug_table_has_row(size, i); i++) {
        struct debug_row row = debug_table_row(table, i);
        if (row.call == call && offset <= row.end && row.name < size) {
            *length = debug_table_name_length(table, size, row.name);
            return table + row.name;
        }
    }
    return NULL;
}

bool ethosu_model_name_operator(const struct ethosu_model *model, uint32_t offset,
                                const char *message, struct ethosu_model_error *error)
{
    uint32_t length;
    const char *name = ethosu_model_operator_at(model, offset, &length);
    if (name != NULL) { // even in terse builds, whose message has the fault's numbers
        (void)(error_set)(error, 0, "%s; operator %.*s", message, (int)length, name);
    }
    return name != NULL;
}
