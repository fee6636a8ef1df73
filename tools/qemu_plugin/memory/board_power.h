// SPDX-License-Identifier: MIT
/**
 * Memories that are off until the guest switches on their power and clock, and memories that
 * bus masters cannot access while the CPU sleeps, because their clock stops then.
 */
#ifndef BOARD_POWER_H
#define BOARD_POWER_H

#include <stdbool.h>
#include <stdint.h>

#include "board/board.h"

/** Create what the CPU finds in place of memories that are off: nothing responds. */
void board_power_create(void);

/**
 * Ask a controller whether a memory, or what is in its place, responds to bus masters; from any
 * thread.
 */
void board_power_mapped_by(bool (*controller)(const struct board_memory *memory));

/** Does this memory respond to a bus master, up to this offset? From any thread. */
bool board_power_on(const struct board_memory *memory, uint64_t end);

/**
 * A run or transfer is about to begin. If a clock stops while the CPU sleeps, watch for a while
 * whether it does: an emulated CPU may not be asleep yet, or be awake for a tick of its clock.
 *
 * @return  virtual time in ns after which it is known, 0 if it does not matter
 */
int64_t board_power_settle(void);

#endif
