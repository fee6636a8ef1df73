// SPDX-License-Identifier: MIT
/**
 * MRAM that accepts only whole lines of 16 bytes; any other store is lost and reported.
 *
 * The first revision of the silicon (BOARD_NO_FETCH) also loses a line if the CPU executes code
 * from this memory between the line's first and last store.
 */
#ifndef MRAM_H
#define MRAM_H

#include "base/qemu_api.h"

/** Take note of the execution of a new translation block, if it is in such a memory. */
void mram_watch(struct qemu_plugin_tb *tb);

#endif
