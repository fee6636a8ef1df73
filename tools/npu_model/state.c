// SPDX-License-Identifier: MIT
/** The command registers: values that the stream sets and operations use. */
#include <string.h>

#include "npu_internal.h"

void npu_state_reset(struct npu *npu)
{
    memset(npu->command, 0, sizeof npu->command);
    memset(npu->command_set, 0, sizeof npu->command_set);
    npu->lut_written = 0;
}

bool npu_get(struct npu *npu, enum npu_command_row row, uint64_t *value)
{
    *value = npu->command[row];
    if (npu->command_set[row]) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "needs %s, which was never set since reset",
                    npu_command_table[row].name);
}
