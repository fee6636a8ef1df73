// SPDX-License-Identifier: MIT
/**
 * What differs between the two Cortex-M55 of Alif Ensemble E3, E5 and E7, for
 * the mpconfigboard.h of their boards. Sources of the numbers: README.md.
 */
#ifndef ALIF_CORE_H
#define ALIF_CORE_H

#if defined(BOARD_M55_HP)
#define ALIF_CORE_NAME "M55_HP"
#define BOARD_CLOCK_HZ 400000000u           /**< CPU and SysTick */
#define ALIF_CORE_CONFIGURATION 0x400F0000u /**< M55HP_CFG */
#define ALIF_DTCM_ON_BUS 0x50800000u        /**< where bus masters see the DTCM */
#define ALIF_SRAM_A_NAME "SRAM0"
#define ALIF_SRAM_B_NAME "SRAM1"
#elif defined(BOARD_M55_HE)
#define ALIF_CORE_NAME "M55_HE"
#define BOARD_CLOCK_HZ 160000000u
#define ALIF_CORE_CONFIGURATION 0x43007000u /**< M55HE_CFG */
#define ALIF_DTCM_ON_BUS 0x58800000u
#define ALIF_SRAM_A_NAME "SRAM8"
#define ALIF_SRAM_B_NAME "SRAM6_B"
#else
#error "which core? BOARD=...-M55_HP or BOARD=...-M55_HE"
#endif

#define BOARD_UART_BAUD 115200u

#define BOARD_IRQ_COUNT 480u
#define BOARD_IRQ_PRIORITY_BITS 8u

/** Where the emulator has its register page; the chip has nothing there. */
#define BOARD_EMULATOR_PAGE_BASE 0x4F000000u
#define BOARD_EMULATOR_PAGE_IRQ 479u

/** A pin of the chip: port and number. */
#define ALIF_PIN(port, pin) ((port) * 32u + (pin) * 4u)

#endif
