// SPDX-License-Identifier: MIT
/**
 * In the place of a board's file for the objects that are common to all boards: a board's constants
 * are missing, so what needs them does not compile.
 */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

/* For the headers of the core, whose functions nothing common calls. */
#define BOARD_IRQ_COUNT 480u
#define BOARD_IRQ_PRIORITY_BITS 8u

#endif
