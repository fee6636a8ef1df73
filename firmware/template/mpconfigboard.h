// SPDX-License-Identifier: MIT
/** Constants of the board. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Template"       /**< in the banner and in os.uname().machine */
#define BOARD_MCU_NAME "Cortex-M55" /**< the same */
#define BOARD_PLATFORM "template"   /**< sys.platform */

#define BOARD_CLOCK_HZ 100000000u /**< CPU and SysTick */
#define BOARD_UART_BAUD 115200u   /**< of the prompt; what mpremote speaks */

#define BOARD_IRQ_COUNT 480u       /**< inputs of the interrupt controller */
#define BOARD_IRQ_PRIORITY_BITS 3u /**< that the controller implements */

/** The emulator's page, where the chip has nothing: only for BOARD_EMULATOR = yes in board.mk. */
#define BOARD_EMULATOR_PAGE_BASE 0x4F000000u
#define BOARD_EMULATOR_PAGE_IRQ 479u

#endif
