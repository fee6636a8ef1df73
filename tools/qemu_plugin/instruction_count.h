// SPDX-License-Identifier: MIT
/** Counts the guest's instructions. */
#ifndef INSTRUCTION_COUNT_H
#define INSTRUCTION_COUNT_H

#include <stdint.h>

#include "qemu_api.h"

/** Prepare to count; called once, while the plugin is installed. */
void instruction_count_install(void);

/** Count the instructions of a new translation whenever they are executed. */
void instruction_count_add(struct qemu_plugin_tb *tb);

/** Instructions that the guest began to execute so far. */
uint64_t instruction_count(void);

#endif
