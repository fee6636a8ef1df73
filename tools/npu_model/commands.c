// SPDX-License-Identifier: MIT
/** The command table, generated from commands.def. */
#include "commands.h"

#include <stddef.h>

#include "product.h"

const struct npu_command npu_command_table[NPU_COMMAND_COUNT] = {
#define OPERATION(code, name, bits, family, function) \
    {"NPU_OP_" #name, code, bits, family, function},
#define REGISTER(code, name, bits, family) {"NPU_SET_" #name, code, bits, family, NULL},
#define PAYLOAD(code, name, bits, family) {"NPU_SET_" #name, code, bits, family, NULL},
#include "commands.def"
#undef OPERATION
#undef REGISTER
#undef PAYLOAD
};

/** The table is sorted by code; a test checks it. */
int npu_command_find(uint32_t code)
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
    return low < NPU_COMMAND_COUNT && npu_command_table[low].code == code ? low : -1;
}
