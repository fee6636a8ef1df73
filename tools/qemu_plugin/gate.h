// SPDX-License-Identifier: MIT
/** What a guest must have written before a device answers: its clock, its enable, its reset. */
#ifndef GATE_H
#define GATE_H

#include <stdint.h>

/** Closed until the bits of `mask` in a register have this value; a mask of 0 is always open. */
struct gate {
    uint32_t address; /**< of a register that only remembers: board.h */
    uint32_t mask;
    uint32_t value;
};

#endif
