// SPDX-License-Identifier: MIT
/** Counts the guest's instructions. */
#ifndef INSTRUCTION_COUNT_H
#define INSTRUCTION_COUNT_H

#include <stdint.h>

#include "qemu_api.h"

/** Start counting; called once, while the plugin is installed. */
void instruction_count_install(qemu_plugin_id_t id);

/** Instructions that the guest began to execute so far. */
uint64_t instruction_count(void);

#endif
