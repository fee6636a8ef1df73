// SPDX-License-Identifier: MIT
/**
 * What QEMU calls while the guest runs, for each level of its plugin API. Nothing else registers
 * callbacks.
 */
#ifndef CALLBACKS_H
#define CALLBACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/qemu_api.h"

/** By major and minor number. */
bool qemu_release_before(struct qemu_release one, struct qemu_release other);

/** The level that the plugin claims to be made for, from the release of the QEMU that loads it. */
int callbacks_claim(struct qemu_release release);

/** Use the conventions of this level; false if they are not known. Before all others. */
bool callbacks_choose(int api);

/** Call this for each block of code that QEMU translates. */
void callbacks_translated(qemu_plugin_id_t id, translation_callback callback);

/** Call this, with the context, each time the block is executed. */
void callbacks_block(struct qemu_plugin_tb *tb, execution_callback callback, void *context);

/** Call this, with the context, each time the instruction is executed. */
void callbacks_instruction(struct qemu_plugin_insn *insn, execution_callback callback,
                           void *context);

/** Count the instructions of a translated block each time they are executed. */
void callbacks_count(struct qemu_plugin_tb *tb);

/** Number of counted instructions that the guest has started to execute. */
uint64_t callbacks_counted(void);

#endif
