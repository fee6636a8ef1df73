// SPDX-License-Identifier: MIT
/** Register settings that a device needs before it responds: clock, enable, reset. */
#ifndef GATE_H
#define GATE_H

#include <stdint.h>

/** Open while the bits of `mask` in a register have this value; always open if mask is 0. */
struct gate {
    uint32_t address; /**< a store-only register, see board.h */
    uint32_t mask;
    uint32_t value;
};

#endif
