// SPDX-License-Identifier: MIT
/** Devices that a chip's table names, each in a file of its name. Big lock. */
#ifndef CHIP_H
#define CHIP_H

#include <stdint.h>

#include "board/slots.h"

/** Create a UART in the machine. */
#define UART(kind, keys) void uart_##kind##_create(const struct board_uart *slot);
#include "board/devices.def"

/** Create a device with registers at `base`, over store-only ones. */
#define DEVICE(kind) void kind##_create(uint32_t base);
#include "board/devices.def"

#endif
