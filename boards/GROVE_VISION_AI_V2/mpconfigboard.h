// SPDX-License-Identifier: MIT
/** Constants of Seeed's Grove Vision AI V2: the larger core (CM55M) of a Himax WE2. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Grove Vision AI V2"
#define BOARD_MCU_NAME "HX6538"
#define BOARD_PLATFORM "grove-vision-ai-v2"

#define BOARD_CLOCK_HZ 400000000u /**< CPU and SysTick, as the boot loader leaves them */
#define BOARD_UART_BAUD 115200u   /**< what mpremote speaks; the boot loader has 921600 */

#define BOARD_IRQ_COUNT 480u
#define BOARD_IRQ_PRIORITY_BITS 3u

/** Where the emulator has its register page; the chip has nothing there. */
#define BOARD_EMULATOR_PAGE_BASE 0x5F000000u
#define BOARD_EMULATOR_PAGE_IRQ 479u

#endif
