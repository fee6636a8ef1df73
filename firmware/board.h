// SPDX-License-Identifier: MIT
/**
 * What a board supplies to the firmware. All of it is required: a board that
 * forgets one fails to link. All that is data is in its board.toml, of which
 * firmware/board.py makes mpconfigboard.h, memory.ld, and the table of
 * modules/ethosu/driver/include/ethosu_board.h.
 */
#ifndef FIRMWARE_BOARD_H
#define FIRMWARE_BOARD_H

#include <stdbool.h>
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
 * `_flashdisk_end`, if board.toml has a `disk`.
 */
extern const struct nvm board_nvm;

/** Before the console's UART is used, for drivers/uart_16550.c: clocks on, pins connected. */
void board_uart_prepare(void);

struct ethosu_npu;

/** Switch clock and power of an NPU, for a board whose board.toml says so; see ethosu_board.h. */
bool board_npu_power(const struct ethosu_npu *npu, bool on);

/** Seconds since 1970 by a clock that runs on over a reset, or 0 if the board has none. */
uint32_t board_wall_clock(void);

/** The board's identity for machine.unique_id(): its bytes, and their number in *size. */
const uint8_t *board_unique_id(size_t *size);

#endif
