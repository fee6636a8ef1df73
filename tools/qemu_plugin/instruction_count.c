// SPDX-License-Identifier: MIT
/**
 * Counts the guest's instructions with an addition that QEMU compiles into each of them.
 *
 * One addition per translation block would be cheaper but wrong: blocks that end early, at a fault
 * or from QEMU 9 on at a device access, would be counted in full.
 */
#include "instruction_count.h"

static uint64_t counter_api_1;
static qemu_plugin_u64 counter_api_2;

void instruction_count_install(void)
{
    if (qemu_api_level() > 1) {
        counter_api_2.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    }
}

void instruction_count_add(struct qemu_plugin_tb *tb)
{
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        if (qemu_api_level() == 1) {
            qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                       &counter_api_1, 1);
        } else {
            qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                                counter_api_2, 1);
        }
    }
}

uint64_t instruction_count(void)
{
    // The CPU's thread updates it without a lock; an aligned 64-bit load is atomic.
    return qemu_api_level() == 1 ? __atomic_load_n(&counter_api_1, __ATOMIC_RELAXED)
                                 : qemu_plugin_u64_sum(counter_api_2);
}
