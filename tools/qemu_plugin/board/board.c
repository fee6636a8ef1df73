// SPDX-License-Identifier: MIT
/** The board that this process emulates. */
#include "board/board.h"

#include <string.h>

static const struct board *chosen = boards;

const struct board *board(void)
{
    return chosen;
}

bool board_choose(const char *name)
{
    for (size_t i = 0; i < board_count; i++) {
        if (strcmp(boards[i].name, name) == 0) {
            chosen = &boards[i];
            return true;
        }
    }
    return false;
}
