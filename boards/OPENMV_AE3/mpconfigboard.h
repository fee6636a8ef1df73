// SPDX-License-Identifier: MIT
/** Constants of the OpenMV AE3. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#include "core.h"

#define BOARD_NAME "OpenMV AE3 (" ALIF_CORE_NAME ")"
#define BOARD_MCU_NAME "AE302F80F55D5"
#define BOARD_PLATFORM "openmv-ae3"

/* Pins of the header: RX is P1, TX is P0; for the other core P3 and P2. */
#if defined(BOARD_M55_HP)
#define ALIF_UART 4u
#define ALIF_UART_RX ALIF_PIN(5u, 0u)
#define ALIF_UART_TX ALIF_PIN(5u, 1u)
#else
#define ALIF_UART 5u
#define ALIF_UART_RX ALIF_PIN(5u, 2u)
#define ALIF_UART_TX ALIF_PIN(5u, 3u)
#endif
#define ALIF_UART_FUNCTION 2u

/*
 * OpenMV's partition ROMFS0 in the flash chip, where OSPI0 would map it. The firmware has no driver
 * of the chip; the emulator maps it, and an image there is /rom.
 */
#ifdef FIRMWARE_EMULATOR
#define BOARD_EMULATED_ROMFS 0xA0800000u
#define BOARD_EMULATED_ROMFS_SIZE 0x01800000u
#endif

#endif
