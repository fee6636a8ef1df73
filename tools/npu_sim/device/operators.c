// SPDX-License-Identifier: MIT
/** The operators and control commands, by row of commands.def. */
#include "device/device.h"

#include <stddef.h>

#include "core/commands.h"

static const struct npu_command_action actions[NPU_COMMAND_COUNT] = {
#define OPERATION(code, name, u55, u65, u85, operator) {&operator, NULL },
#define CONTROL(code, name, u55, u65, u85, function) {NULL, function},
#define REGISTER(code, name, u55, u65, u85) {NULL, NULL},
#define PAYLOAD REGISTER
#include "core/commands.def"
};

const struct npu_command_action *npu_action_of(int row)
{
    return &actions[row];
}
