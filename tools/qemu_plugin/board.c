// SPDX-License-Identifier: MIT
/** The list of boards, and which one this process emulates. */
#include "board.h"

#include <string.h>

#define X(name) extern const struct board board_##name;
#include "boards.def"
#undef X

#define X(name) &board_##name,
static const struct board *const boards[] = {
#include "boards.def"
};
#undef X
#define BOARD_COUNT (sizeof boards / sizeof boards[0])

static const struct board *chosen;

const struct board *board(void)
{
    return chosen ? chosen : boards[0];
}

bool board_choose(const char *name)
{
    for (size_t i = 0; i < BOARD_COUNT; i++) {
        if (strcmp(boards[i]->name, name) == 0) {
            chosen = boards[i];
            return true;
        }
    }
    return false;
}

const char *board_name(size_t index)
{
    return index < BOARD_COUNT ? boards[index]->name : NULL;
}
