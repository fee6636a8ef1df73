// SPDX-License-Identifier: MIT
/** Constants of the MPS3 FPGA board with image AN547, and of its model in QEMU. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#define BOARD_NAME "MPS3-AN547"
#define BOARD_MCU_NAME "Cortex-M55"
#define BOARD_PLATFORM "mps3-an547"

#define BOARD_CLOCK_HZ 32000000u      /**< CPU and SysTick */
#define BOARD_PERIPHERAL_HZ 25000000u /**< UARTs */
#define BOARD_UART_BAUD 115200u

#define BOARD_IRQ_COUNT 128u
#define BOARD_IRQ_PRIORITY_BITS 3u

/** Where the emulator has its register page; the FPGA has nothing there. */
#define BOARD_EMULATOR_PAGE_BASE 0x4F000000u
#define BOARD_EMULATOR_PAGE_IRQ 57u

#endif
