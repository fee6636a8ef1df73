// SPDX-License-Identifier: MIT
/**
 * Replaces the board's file when compiling objects common to all boards. It lacks the board's
 * constants, so code that needs them does not compile.
 */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

/* For the headers of the core; common code does not call their functions. */
#define BOARD_IRQ_COUNT 480u
#define BOARD_IRQ_PRIORITY_BITS 8u

#endif
