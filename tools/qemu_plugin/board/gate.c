// SPDX-License-Identifier: MIT
/** Gates: are the register settings there that a device or memory needs? */
#include "board/gate.h"

#include <stddef.h>

#include "board/registers.h"

bool gate_is_open(const struct gate *gate)
{
    return (registers_load(gate->address) & gate->mask) == gate->value;
}

bool gates_are_open(const struct gates *gates)
{
    bool open = true;
    for (size_t i = 0; i < GATES_MAX; i++) {
        open = open && gate_is_open(&gates->all[i]);
    }
    return open;
}
