// SPDX-License-Identifier: MIT
/** The command table, generated from commands.def; fields of registers, from fields.def. */
#ifndef NPU_COMMANDS_H
#define NPU_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/product.h"

struct npu;
struct npu_operator;

/** Row numbers of the command table; a register's row is also its storage. */
enum npu_command_row {
#define OPERATION(code, name, u55, u65, u85, operator) NPU_OP_##name,
#define CONTROL(code, name, u55, u65, u85, function) NPU_OP_##name,
#define REGISTER(code, name, u55, u65, u85) NPU_SET_##name,
#define PAYLOAD REGISTER
#include "core/commands.def"
    NPU_COMMAND_COUNT
};

/** Register fields, independent of their position in a family. */
enum npu_field {
#define FIELD(name, row, shift, bits, row85, shift85, bits85) NPU_FIELD_##name,
#include "core/fields.def"
    NPU_FIELD_COUNT
};

/** Position of a field in a family. */
struct npu_field_position {
    int16_t row; /**< enum npu_command_row, or negative if the family lacks the field */
    uint8_t shift, bits;
};

/** Positions of all fields in a family. */
const struct npu_field_position *npu_field_positions(enum npu_family_index family);

struct npu_command {
    const char *name;
    uint16_t code; /**< command word bits [15:0] */
    /** Meaningful bits of command word bits [31:16]; negative if the family lacks the command. */
    int32_t param_mask[NPU_FAMILIES];
    bool is_register; /**< all that it does is to be stored */
};

extern const struct npu_command npu_command_table[NPU_COMMAND_COUNT];

/** Parts of a command word. */
enum {
    NPU_WORD_CODE_MASK = 0xFFFF,
    NPU_WORD_PARAM_SHIFT = 16,
    NPU_CODE_CLASS_MASK = 0xC000,
    NPU_CODE_CLASS_PAYLOAD = 0x4000,
    NPU_CODE_OPCODE_MASK = 0x03FF,
};

/** Row of the command with this code: this family's if it has one, else another's, else -1. */
int npu_command_find(enum npu_family_index family, uint32_t code);

/** The rows of a family by code, so that executing a stream does not search. */
struct npu_command_index {
    int16_t rows[2][NPU_CODE_OPCODE_MASK + 1]; /**< by class and opcode; -1 if there is none */
};

void npu_command_index_fill(struct npu_command_index *index, enum npu_family_index family);

/** The result of npu_command_find() for the family of the index. */
static inline int npu_command_look_up(const struct npu_command_index *index, uint32_t code)
{
    bool possible = (code & ~(uint32_t)(NPU_CODE_CLASS_PAYLOAD | NPU_CODE_OPCODE_MASK)) == 0;
    bool payload = (code & NPU_CODE_CLASS_PAYLOAD) != 0;
    return possible ? index->rows[payload][code & NPU_CODE_OPCODE_MASK] : -1;
}

/* What the rows do; device/operators.c has them in a table. */
#define OPERATION(code, name, u55, u65, u85, operator) extern const struct npu_operator operator;
#define CONTROL(code, name, u55, u65, u85, function) bool function(struct npu *npu, uint32_t param);
#include "core/commands.def"

#endif
