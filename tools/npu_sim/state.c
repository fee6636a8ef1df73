// SPDX-License-Identifier: MIT
/** The command registers, set by the stream and read by operations. */
#include <assert.h>
#include <string.h>

#include "npu_internal.h"
#include "rounding.h"

void npu_state_reset(struct npu *npu)
{
    memset(npu->command, 0, sizeof npu->command);
    memset(npu->command_set, 0, sizeof npu->command_set);
    npu->lut_written = 0;
    npu->result_flag = false;
}

bool npu_get(struct npu *npu, enum npu_command_row row, uint64_t *value)
{
    assert(npu->run.decoding);
    *value = npu->command[row];
    if (npu->command_set[row]) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "needs %s, which was never set since reset",
                    npu_command_table[row].name);
}

bool npu_get_field(struct npu *npu, enum npu_field field, uint32_t *value)
{
    struct npu_field_position at = npu_field_positions(npu->product->family->index)[field];
    uint64_t whole = 0;
    *value = 0;
    if (at.row < 0) {
        return true;
    }
    bool set = npu_get(npu, (enum npu_command_row)at.row, &whole);
    *value = (uint32_t)(whole >> at.shift & (((uint64_t)1 << at.bits) - 1));
    return set;
}

bool npu_get_offset(struct npu *npu, enum npu_command_row row, int64_t *offset)
{
    uint64_t value;
    bool set = npu_get(npu, row, &value);
    *offset = (int64_t)(npu->product->family->address_bits == 32 ? (uint32_t)value : value);
    return set;
}

bool npu_get_distance(struct npu *npu, enum npu_command_row row, int64_t *distance)
{
    uint64_t value;
    bool set = npu_get(npu, row, &value);
    *distance = npu_sign_extend(value, npu->product->family->address_bits);
    return set;
}
