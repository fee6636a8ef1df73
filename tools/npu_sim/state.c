// SPDX-License-Identifier: MIT
/** The command registers: values that the stream sets and operations use. */
#include <string.h>

#include "npu_internal.h"

void npu_state_reset(struct npu *npu)
{
    memset(npu->command, 0, sizeof npu->command);
    memset(npu->command_set, 0, sizeof npu->command_set);
    npu->lut_written = 0;
    npu->result_flag = false;
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

bool npu_get_field(struct npu *npu, enum npu_field field, uint32_t *value)
{
    struct npu_field_place place = npu_field_places(npu->product->family->index)[field];
    uint64_t whole = 0;
    *value = 0;
    if (place.row < 0) {
        return true;
    }
    bool set = npu_get(npu, (enum npu_command_row)place.row, &whole);
    *value = (uint32_t)(whole >> place.shift & (((uint64_t)1 << place.bits) - 1));
    return set;
}

const struct npu_microblock *npu_microblock(struct npu *npu)
{
    uint32_t value;
    if (!npu_get_field(npu, NPU_FIELD_MICROBLOCK, &value)) {
        return NULL;
    }
    if (value >= NPU_MICROBLOCKS || npu->product->microblocks[value].depth == 0) {
        npu_fail(npu, NPU_FAULT_PARSE, "has microblock %u, which %s has not", (unsigned)value,
                 npu->product->name);
        return NULL;
    }
    return &npu->product->microblocks[value];
}
