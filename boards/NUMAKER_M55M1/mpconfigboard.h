// SPDX-License-Identifier: MIT
/** Constants of Nuvoton NuMaker-M55M1. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Nuvoton NuMaker-M55M1"
#define BOARD_MCU_NAME "M55M1H2LJAE"
#define BOARD_PLATFORM "numaker-m55m1"

#define BOARD_CLOCK_HZ 220000000u     /**< CPU and SysTick */
#define BOARD_PERIPHERAL_HZ 12000000u /**< UART0: the oscillator HIRC */
#define BOARD_UART_BAUD 115200u

#define BOARD_IRQ_COUNT 162u
#define BOARD_IRQ_PRIORITY_BITS 3u

/** Where the emulator has its register page; the chip has nothing there. */
#define BOARD_EMULATOR_PAGE_BASE 0x4F000000u
#define BOARD_EMULATOR_PAGE_IRQ 159u

#endif
