// SPDX-License-Identifier: MIT
/**
 * Finds the operator that a command belongs to, in the table that `ethosu
 * compile` adds to the file; tools/ethosu_tools/debug_table.py has its layout.
 */
#include "metadata.h"
#include "model.h"

#include <string.h>

enum { MARK = 0x47424445, VERSION = 1 }; // "EDBG"
enum { WORD_MARK, WORD_VERSION, WORD_COUNT, HEADER_WORDS };
enum { ENTRY_CALL, ENTRY_END, ENTRY_NAME, ENTRY_WORDS };

static uint32_t word(const char *table, uint32_t index)
{
    uint32_t value;
    memcpy(&value, table + 4 * index, sizeof value); // the file may have any alignment
    return value;
}

/** Number of the NPU call whose program the driver ran last; their count when it is none. */
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
    if (model->driver == NULL || table == NULL || size < 4 * HEADER_WORDS ||
        word(table, WORD_MARK) != MARK || word(table, WORD_VERSION) != VERSION) {
        return NULL;
    }
    uint32_t call = failed_call(model);
    uint32_t words = size / 4;
    for (uint32_t at = HEADER_WORDS, left = word(table, WORD_COUNT);
         left > 0 && at + ENTRY_WORDS <= words; at += ENTRY_WORDS, left--) {
        uint32_t name = word(table, at + ENTRY_NAME);
        if (word(table, at + ENTRY_CALL) == call && offset <= word(table, at + ENTRY_END) &&
            name < size) {
            const char *end = memchr(table + name, '\0', size - name);
            *length = end == NULL ? size - name : (uint32_t)(end - (table + name));
            return table + name;
        }
    }
    return NULL;
}
