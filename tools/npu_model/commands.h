// SPDX-License-Identifier: MIT
/** The command table, generated from commands.def. */
#ifndef NPU_COMMANDS_H
#define NPU_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

struct npu;

/** Row numbers of the command table; a register's row is also its storage. */
enum npu_command_row {
#define OPERATION(code, name, bits, family, function) NPU_OP_##name,
#define REGISTER(code, name, bits, family) NPU_SET_##name,
#define PAYLOAD(code, name, bits, family) NPU_SET_##name,
#include "commands.def"
#undef OPERATION
#undef REGISTER
#undef PAYLOAD
    NPU_COMMAND_COUNT
};

struct npu_command {
    const char *name;
    uint16_t code;       /**< command word bits [15:0] */
    uint16_t param_mask; /**< meaningful bits of command word bits [31:16] */
    uint8_t families;    /**< set of enum npu_family */
    /** Execute; NULL for a register. False when the stream has to stop. */
    bool (*execute)(struct npu *npu, uint32_t param);
};

extern const struct npu_command npu_command_table[NPU_COMMAND_COUNT];

/** Parts of a command word. */
enum {
    NPU_WORD_CODE_MASK = 0xFFFF,
    NPU_WORD_PARAM_SHIFT = 16,
    NPU_CODE_CLASS_MASK = 0xC000,
    NPU_CODE_CLASS_PAYLOAD = 0x4000,
    NPU_CODE_RESERVED_MASK = 0x3C00,
};

/** Row of the command with this code, or -1. */
int npu_command_find(uint32_t code);

#define OPERATION(code, name, bits, family, function) \
    bool function(struct npu *npu, uint32_t param);
#define REGISTER(code, name, bits, family)
#define PAYLOAD(code, name, bits, family)
#include "commands.def"
#undef OPERATION
#undef REGISTER
#undef PAYLOAD

#endif
