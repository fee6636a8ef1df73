// SPDX-License-Identifier: MIT
/** See watch.h. */
#include "base/watch.h"

#include "base/callbacks.h"
#include "base/message.h"

static uint32_t addresses[WATCH_MAX];
static unsigned address_count;

bool watch_add(uint32_t address)
{
    if (address_count == WATCH_MAX) {
        return false;
    }
    addresses[address_count++] = address & ~1u;
    return true;
}

bool watch_is_used(void)
{
    return address_count != 0;
}

static void reached(unsigned vcpu, void *context)
{
    (void)vcpu;
    const uint32_t *address = context;
    message(MESSAGE_NONE, "watch: %llu 0x%08x", (unsigned long long)callbacks_counted(), *address);
}

void watch(struct qemu_plugin_tb *tb)
{
    for (size_t i = 0; address_count && i < qemu_plugin_tb_n_insns(tb); i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        for (unsigned j = 0; j < address_count; j++) {
            if (qemu_plugin_insn_vaddr(insn) == addresses[j]) {
                callbacks_instruction(insn, reached, &addresses[j]);
            }
        }
    }
}

void watch_npu(const char *npu, const char *what)
{
    if (address_count) {
        message(MESSAGE_NONE, "watch: %llu %s %s", (unsigned long long)callbacks_counted(), npu,
                what);
    }
}
