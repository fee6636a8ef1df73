// SPDX-License-Identifier: MIT
/** Constants of Alif Ensemble E7, high-performance core (M55_HP). */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "Alif Ensemble E7 (M55_HP)"
#define BOARD_MCU_NAME "AE722F80F55D5"
#define BOARD_PLATFORM "alif-ensemble-e7"

#define BOARD_CORE_HEADER "core_cm55.h"
#define BOARD_CLOCK_HZ 400000000u      /**< CPU and SysTick */
#define BOARD_PERIPHERAL_HZ 100000000u /**< UARTs */
#define BOARD_UART_BAUD 115200u

#define BOARD_IRQ_COUNT 480u
#define BOARD_IRQ_PRIORITY_BITS 8u

/** Where the emulator has its register page; the chip has nothing there. */
#define BOARD_EMULATOR_PAGE_BASE 0x4F000000u
#define BOARD_EMULATOR_PAGE_IRQ 479u

#endif
