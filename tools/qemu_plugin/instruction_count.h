// SPDX-License-Identifier: MIT
/** Counts the guest's instructions. */
#ifndef INSTRUCTION_COUNT_H
#define INSTRUCTION_COUNT_H

#include <stdint.h>

#include "qemu_api.h"

/** Prepare to count; called once, when the plugin is installed. */
void instruction_count_install(void);

/** Count the instructions of a new translation block each time they are executed. */
void instruction_count_add(struct qemu_plugin_tb *tb);

/** Number of instructions that the guest has started to execute. */
uint64_t instruction_count(void);

#endif
