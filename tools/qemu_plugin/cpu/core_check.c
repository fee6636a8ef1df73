// SPDX-License-Identifier: MIT
/** See core_check.h. Encodings: Arm DDI 0553, C2.4; GNU's assembler makes the same. */
#include "cpu/core_check.h"

#include <string.h>

#include "base/message.h"
#include "memory/guest_memory.h"

/** QEMU takes them for SMMLS without an addend, and for SMMLA and SMMLAR with the PC as result. */
static const struct {
    const char *name;
    uint16_t first_mask, first, second_mask, second;
} lacking[] = {
    {"PACG", 0xFFF0, 0xFB60, 0xF0F0, 0xF000},
    {"AUTG", 0xFFF0, 0xFB50, 0x0FF0, 0x0F00},
    {"BXAUT", 0xFFF0, 0xFB50, 0x0FF0, 0x0F10},
};

static void check(uint32_t address)
{
    uint16_t halves[2];
    const uint8_t *bytes = guest_memory_map(MASTER_CPU, address, sizeof halves, false);
    if (!bytes) {
        return;
    }
    memcpy(halves, bytes, sizeof halves);
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        if ((halves[0] & lacking[i].first_mask) == lacking[i].first &&
            (halves[1] & lacking[i].second_mask) == lacking[i].second) {
            fatal("the instruction %s at 0x%08x belongs to PACBTI, which the emulated Cortex-M55 "
                  "lacks: build the firmware for it, or without branch protection",
                  lacking[i].name, address);
        }
    }
}

void core_check(const struct qemu_plugin_tb *tb)
{
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_plugin_insn_size(insn) == 4) {
            check((uint32_t)qemu_plugin_insn_vaddr(insn));
        }
    }
}
