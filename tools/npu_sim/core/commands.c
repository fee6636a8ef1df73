// SPDX-License-Identifier: MIT
/** The command table, generated from commands.def; fields of registers, from fields.def. */
#include "core/commands.h"

#include <stddef.h>

enum { NONE = -1, NPU_SET_ABSENT = -1 };

const struct npu_command npu_command_table[NPU_COMMAND_COUNT] = {
#define OPERATION(code, name, u55, u65, u85, operator) \
    {"NPU_OP_" #name, code, {u55, u65, u85}, false},
#define CONTROL OPERATION
#define REGISTER(code, name, u55, u65, u85) {"NPU_SET_" #name, code, {u55, u65, u85}, true},
#define PAYLOAD REGISTER
#include "core/commands.def"
};

const struct npu_field_position *npu_field_positions(enum npu_family_index family)
{
    static const struct npu_field_position old[NPU_FIELD_COUNT] = {
#define FIELD(name, row, shift, bits, row85, shift85, bits85) {(int)NPU_SET_##row, shift, bits},
#include "core/fields.def"
    };
    static const struct npu_field_position u85[NPU_FIELD_COUNT] = {
#define FIELD(name, row, shift, bits, row85, shift85, bits85) \
    {(int)NPU_SET_##row85, shift85, bits85},
#include "core/fields.def"
    };
    static const struct npu_field_position *const positions[NPU_FAMILIES] = {old, old, u85};
    return positions[family];
}

/** The table is sorted by code; a test checks it. */
int npu_command_find(enum npu_family_index family, uint32_t code)
{
    int low = 0;
    int high = NPU_COMMAND_COUNT;
    while (low < high) {
        int middle = (low + high) / 2;
        if (npu_command_table[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    int best = -1;
    for (; low < NPU_COMMAND_COUNT && npu_command_table[low].code == code; low++) {
        best = best < 0 || npu_command_table[low].param_mask[family] >= 0 ? low : best;
    }
    return best;
}

void npu_command_index_fill(struct npu_command_index *index, enum npu_family_index family)
{
    for (uint32_t opcode = 0; opcode <= NPU_CODE_OPCODE_MASK; opcode++) {
        index->rows[0][opcode] = (int16_t)npu_command_find(family, opcode);
        index->rows[1][opcode] = (int16_t)npu_command_find(family, NPU_CODE_CLASS_PAYLOAD | opcode);
    }
}
