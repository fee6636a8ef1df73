// SPDX-License-Identifier: MIT
/**
 * A board built on QEMU's empty machine "none": CPU, interrupt controller, memories and UART come
 * from the board's table.
 */
#ifndef MACHINE_NONE_H
#define MACHINE_NONE_H

#include <stdbool.h>
#include <stdint.h>

/** At load: make QEMU create the board. On failure prints an error and returns false. */
bool machine_none_prepare(void);

#endif
