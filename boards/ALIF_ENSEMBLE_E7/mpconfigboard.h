// SPDX-License-Identifier: MIT
/** Constants of Alif's Ensemble E7 DevKit. */
#ifndef MPCONFIGBOARD_H
#define MPCONFIGBOARD_H

#include "core.h"

#define BOARD_NAME "Alif Ensemble E7 (" ALIF_CORE_NAME ")"
#define BOARD_MCU_NAME "AE722F80F55D5"
#define BOARD_PLATFORM "alif-ensemble-e7"

#if defined(BOARD_M55_HP)
#define ALIF_UART 4u
#define ALIF_UART_RX ALIF_PIN(12u, 1u)
#define ALIF_UART_TX ALIF_PIN(12u, 2u)
#define ALIF_UART_FUNCTION 2u
#else
#define ALIF_UART 2u
#define ALIF_UART_RX ALIF_PIN(1u, 0u)
#define ALIF_UART_TX ALIF_PIN(1u, 1u)
#define ALIF_UART_FUNCTION 1u
#endif

#endif
