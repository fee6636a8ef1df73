// SPDX-License-Identifier: MIT
/** The command registers, set by the stream and read by operations. */
#include <assert.h>
#include <string.h>

#include "core/npu_internal.h"
#include "core/rounding.h"

void npu_state_reset(struct npu *npu)
{
    memset(npu->command, 0, sizeof npu->command);
    memset(npu->command_set, 0, sizeof npu->command_set);
    memset(npu->lut_written, 0, sizeof npu->lut_written);
    npu->result_flag = false;
}

void npu_tables_fill(struct npu *npu, uint32_t at, uint32_t bytes)
{
    uint32_t first = (at + NPU_LUT_GRANULE - 1) / NPU_LUT_GRANULE;
    for (uint32_t i = first; i < (at + bytes) / NPU_LUT_GRANULE; i++) {
        npu->lut_written[i / 64] |= (uint64_t)1 << i % 64;
    }
}

uint32_t npu_tables_unfilled(const struct npu *npu, uint32_t at, uint32_t end)
{
    for (; at < end; at += NPU_LUT_GRANULE) {
        uint32_t i = at / NPU_LUT_GRANULE;
        if ((npu->lut_written[i / 64] >> i % 64 & 1) == 0) {
            break;
        }
    }
    return at;
}

bool npu_get(struct npu *npu, enum npu_command_row row, uint64_t *value)
{
    assert(npu->run.decoding);
    *value = npu->command[row];
    if (npu->command_set[row]) {
        return true;
    }
    return npu_fail(npu, NPU_FAULT_PARSE, "needs %s, which this job never set",
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
