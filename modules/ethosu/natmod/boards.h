// SPDX-License-Identifier: MIT
/** Boards that the native module's init() accepts by name; table made by boards_table.py. */
#ifndef BOARDS_H
#define BOARDS_H

#include <stddef.h>

#include "ethosu_board.h"

struct known_board {
    struct ethosu_board board;
    const char *npu;     /**< its config; NULL: any */
    const char *machine; /**< part of sys.implementation._machine of any firmware for it */
};

extern const struct known_board known_boards[];
extern const size_t known_board_count;

#endif
