// SPDX-License-Identifier: MIT
/**
 * Functions that each board implements. All are required; a board that omits
 * one fails to link. Data is in its board.toml, from which firmware/make/board.py
 * makes mpconfigboard.h, memory.ld, and the table of
 * modules/ethosu/driver/include/ethosu_board.h.
 */
#ifndef FIRMWARE_BOARD_H
#define FIRMWARE_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console.h"
#include "nvm.h"

/** The table of a board whose emulator has a memory more than the chip: [qemu] romfs. */
extern const struct ethosu_board emulated_board;

/** The serial port of the REPL. */
extern const struct console_port board_uart;

/** First thing at start-up, with the memory protection unit set: clocks, caches. */
void board_init(void);

/**
 * Write access to the memory of the ROM file system and, if board.toml has a `disk`, of the disk
 * from `_flashdisk_start` to `_flashdisk_end`.
 */
extern const struct nvm board_nvm;

/** Before the console's UART is used, for drivers/uart_16550.c: clocks on, pins connected. */
void board_uart_prepare(void);

struct ethosu_npu;

/** Switch an NPU's clock and power, if board.toml enables this; see ethosu_board.h. */
bool board_npu_power(const struct ethosu_npu *npu, bool on);

/** Seconds since 1970 from a clock that keeps running over a reset, or 0 without such a clock. */
uint32_t board_wall_clock(void);

/** The board's identity for machine.unique_id(): its bytes, and their number in *size. */
const uint8_t *board_unique_id(size_t *size);

#endif
