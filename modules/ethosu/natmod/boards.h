// SPDX-License-Identifier: MIT
/** Boards that init() of the native module knows by name; see boards.c. */
#ifndef BOARDS_H
#define BOARDS_H

#include <stddef.h>

struct ethosu_board;

/** The board of an index, or NULL behind the last one. */
const struct ethosu_board *board_at(size_t index);

#endif
