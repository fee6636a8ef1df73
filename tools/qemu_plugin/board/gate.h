// SPDX-License-Identifier: MIT
/** Register settings that a device or memory needs before it responds: clock, power, reset. */
#ifndef GATE_H
#define GATE_H

#include <stdbool.h>
#include <stdint.h>

/** Open while the bits of `mask` in a register have this value; always open if all are 0. */
struct gate {
    uint32_t address; /**< a store-only register, see board.h */
    uint32_t mask;
    uint32_t value; /**< never open if `mask` lacks one of its bits */
};

#define GATES_MAX 3

/** Gates that must all be open. */
struct gates {
    struct gate all[GATES_MAX];
};

bool gate_is_open(const struct gate *gate);

bool gates_are_open(const struct gates *gates);

#endif
