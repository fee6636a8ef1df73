// SPDX-License-Identifier: MIT
/** Boards that init() of the native module knows by name: a table that firmware/board.py makes. */
#ifndef BOARDS_H
#define BOARDS_H

#include <stddef.h>

#include "ethosu_board.h"

struct known_board {
    struct ethosu_board board;
    const char *npu; /**< its config; NULL: any */
};

extern const struct known_board known_boards[];
extern const size_t known_board_count;

#endif
