// SPDX-License-Identifier: MIT
/**
 * See callbacks.h. Levels 3 to 6 of the API add functions, and change the results of two that read
 * the guest's registers and instructions, which the plugin does not use. Level 7 adds user data to
 * the callbacks that had none and takes the plugin's number from them; callbacks of executed code
 * had it before.
 */
#include "base/callbacks.h"

static translation_callback on_translation;

static void translated_with_id(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    on_translation(tb);
}

static void translated_with_data(struct qemu_plugin_tb *tb, void *data)
{
    (void)data;
    on_translation(tb);
}

static void register_with_id(qemu_plugin_id_t id)
{
    typedef void (*function)(qemu_plugin_id_t id,
                             void (*callback)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
    function on = (function)qemu_plugin_register_vcpu_tb_trans_cb;
    on(id, translated_with_id);
}

static void register_with_data(qemu_plugin_id_t id)
{
    typedef void (*function)(qemu_plugin_id_t id,
                             void (*callback)(struct qemu_plugin_tb *tb, void *data), void *data);
    function on = (function)qemu_plugin_register_vcpu_tb_trans_cb;
    on(id, translated_with_data, NULL);
}

/* The guest's instructions are counted by an addition that QEMU compiles into each of them. One
 * addition per block would be cheaper but wrong: blocks that end early, at a fault or from QEMU 9
 * on at a device access, would be counted in full. */

static uint64_t own_counter;
static qemu_plugin_u64 qemus_counter;

static void add_to_own(struct qemu_plugin_insn *insn)
{
    qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &own_counter, 1);
}

static void add_to_qemus(struct qemu_plugin_insn *insn)
{
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, QEMU_PLUGIN_INLINE_ADD_U64,
                                                        qemus_counter, 1);
}

static uint64_t read_own(void)
{
    // The CPU's thread updates it without a lock; an aligned 64-bit load is atomic.
    return __atomic_load_n(&own_counter, __ATOMIC_RELAXED);
}

static uint64_t read_qemus(void)
{
    return qemu_plugin_u64_sum(qemus_counter);
}

/** How QEMU calls and counts from a level of the API on, until the next row's. */
struct convention {
    int api;
    struct qemu_release first; /**< with this level */
    void (*translated)(qemu_plugin_id_t id);
    void (*count)(struct qemu_plugin_insn *insn);
    uint64_t (*counted)(void);
};

static const struct convention conventions[] = {
    {1, {7, 2, 0}, register_with_id, add_to_own, read_own},
    {2, {9, 0, 0}, register_with_id, add_to_qemus, read_qemus},
    {QEMU_API_NEWEST, {11, 1, 0}, register_with_data, add_to_qemus, read_qemus},
};
#define CONVENTION_COUNT (sizeof conventions / sizeof conventions[0])

static const struct convention *used = conventions;

bool qemu_release_before(struct qemu_release one, struct qemu_release other)
{
    return one.major != other.major ? one.major < other.major : one.minor < other.minor;
}

int callbacks_claim(struct qemu_release release)
{
    size_t i = CONVENTION_COUNT - 1;
    while (i > 0 && qemu_release_before(release, conventions[i].first)) {
        i--;
    }
    return conventions[i].api;
}

bool callbacks_choose(int api)
{
    for (size_t i = 0; i < CONVENTION_COUNT && api >= conventions[i].api; i++) {
        used = &conventions[i];
    }
    return api >= conventions[0].api && api <= QEMU_API_NEWEST;
}

void callbacks_translated(qemu_plugin_id_t id, translation_callback callback)
{
    on_translation = callback;
    if (used->count == add_to_qemus) {
        qemus_counter.score = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    }
    used->translated(id);
}

void callbacks_block(struct qemu_plugin_tb *tb, execution_callback callback, void *context)
{
    qemu_plugin_register_vcpu_tb_exec_cb(tb, callback, QEMU_PLUGIN_CB_NO_REGS, context);
}

void callbacks_instruction(struct qemu_plugin_insn *insn, execution_callback callback,
                           void *context)
{
    qemu_plugin_register_vcpu_insn_exec_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS, context);
}

void callbacks_count(struct qemu_plugin_tb *tb)
{
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
        used->count(qemu_plugin_tb_get_insn(tb, i));
    }
}

uint64_t callbacks_counted(void)
{
    return used->counted();
}
