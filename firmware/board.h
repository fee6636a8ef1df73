// SPDX-License-Identifier: MIT
/**
 * What a board supplies to the firmware. All of it is required: a board that
 * forgets one fails to link. Constants are in its mpconfigboard.h, addresses
 * in its memory.ld, and its NPUs behind modules/ethosu/ethosu_board.h.
 */
#ifndef FIRMWARE_BOARD_H
#define FIRMWARE_BOARD_H

#include <stddef.h>
#include <stdint.h>

#include "console.h"

/** How the CPU may use a range of addresses. Whatever no range covers faults. */
enum board_access {
    BOARD_CODE,   /**< read and execute */
    BOARD_DATA,   /**< read and write */
    BOARD_HEAP,   /**< read, write and execute: @micropython.native compiles into it */
    BOARD_DEVICE, /**< registers: read and write in order, nothing cached */
};

/** One range of the memory map, both ends multiples of 32. */
struct board_range {
    const void *start;
    const void *end; /**< first address behind it */
    enum board_access access;
};

/** The memory map, at most eight ranges, none overlapping. */
extern const struct board_range board_ranges[];
extern const size_t board_range_count;

/** The serial port of the REPL. */
extern const struct console_port board_uart;

/** First thing at start-up, with the memory map in force: clocks, caches. */
void board_init(void);

/** Seconds since 1970 by a clock that runs on over a reset, or 0 if the board has none. */
uint32_t board_wall_clock(void);

/** The board's identity for machine.unique_id(): its bytes, and their number in *size. */
const uint8_t *board_unique_id(size_t *size);

#endif
