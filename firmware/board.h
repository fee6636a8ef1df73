// SPDX-License-Identifier: MIT
/**
 * What a board supplies to the firmware. All of it is required: a board that
 * forgets one fails to link. Constants are in its mpconfigboard.h, addresses
 * in its memory.ld; its memories and NPUs are a table, declared in
 * modules/ethosu/driver/include/ethosu_board.h.
 */
#ifndef FIRMWARE_BOARD_H
#define FIRMWARE_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "console.h"
#include "nvm.h"

/** The serial port of the REPL. */
extern const struct console_port board_uart;

/** First thing at start-up, with the memory protection unit set: clocks, caches. */
void board_init(void);

/**
 * How the memory of the ROM file system is written, and that of the disk `_flashdisk_start` to
 * `_flashdisk_end`, if memory.ld has one.
 */
extern const struct nvm board_nvm;

/** Seconds since 1970 by a clock that runs on over a reset, or 0 if the board has none. */
uint32_t board_wall_clock(void);

/** The board's identity for machine.unique_id(): its bytes, and their number in *size. */
const uint8_t *board_unique_id(size_t *size);

#endif
