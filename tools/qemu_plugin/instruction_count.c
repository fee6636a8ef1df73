// SPDX-License-Identifier: MIT
/**
 * Counts the guest's instructions by an addition that QEMU compiles into each
 * of them.
 *
 * One addition per translation block would be cheaper but wrong: a block that
 * a fault, or from QEMU 9 on a device access, leaves half-way is counted whole.
 */
#include "instruction_count.h"

static uint64_t counter_api_1;
static qemu_plugin_u64 counter_api_2;

static void count_api_1(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_tb_get_insn(tb, i),
                                                   QEMU_PLUGIN_INLINE_ADD_U64, &counter_api_1, 1);
    }
}

static void count_api_2(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(
            qemu_plugin_tb_get_insn(tb, i), QEMU_PLUGIN_INLINE_ADD_U64, counter_api_2, 1);
    }
}

void instruction_count_install(qemu_plugin_id_t id)
{
    if (qemu_api_level() == 1) {
        qemu_plugin_register_vcpu_tb_trans_cb(id, count_api_1);
        return;
    }
    counter_api_2.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    qemu_plugin_register_vcpu_tb_trans_cb(id, count_api_2);
}

uint64_t instruction_count(void)
{
    // The CPU's thread adds to it without a lock; an aligned 64-bit load is whole.
    return qemu_api_level() == 1 ? __atomic_load_n(&counter_api_1, __ATOMIC_RELAXED)
                                 : qemu_plugin_u64_sum(counter_api_2);
}
