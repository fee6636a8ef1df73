// SPDX-License-Identifier: MIT
/** UART and clock of MPS3-AN547, which older releases of MicroPython's qemu port lack. */
#include <stddef.h>
#include <stdint.h>

#include "uart.h"

#define WORD(address) (*(volatile uint32_t *)(address))

/* ---- clock ---- */

#define CPU_HZ 32000000u
#define SYSTICK_CONTROL 0xE000E010u
#define SYSTICK_RELOAD 0xE000E014u
#define SYSTICK_VALUE 0xE000E018u
/** It counts cycles of the core, and interrupts. */
#define SYSTICK_ON 7u

static volatile uint32_t milliseconds;

void SysTick_Handler(void)
{
    milliseconds++;
}

uintptr_t ticks_ms(void)
{
    return milliseconds;
}

static void start_clock(void)
{
    WORD(SYSTICK_RELOAD) = CPU_HZ / 1000 - 1;
    WORD(SYSTICK_VALUE) = 0;
    WORD(SYSTICK_CONTROL) = SYSTICK_ON;
}

/* ---- UART ---- */

#define UART 0x49303000u
#define UART_STATE (UART + 4)
#define UART_CONTROL (UART + 8)
#define UART_DIVIDER (UART + 16)
#define TX_FULL 1u
#define RX_FULL 2u
#define TX_AND_RX_ON 3u

#define COPROCESSORS 0xE000ED88u
#define FLOATING_POINT_AND_MVE (0xFu << 20)

/** The first function of a board that the port calls. */
void uart_init(void)
{
    WORD(COPROCESSORS) |= FLOATING_POINT_AND_MVE;
    __asm__ volatile("dsb\n isb" ::: "memory");
    WORD(UART_DIVIDER) = 16;
    WORD(UART_CONTROL) = TX_AND_RX_ON;
    start_clock();
}

int uart_rx_chr(void)
{
    return (WORD(UART_STATE) & RX_FULL) != 0 ? (int)(WORD(UART) & 0xFF) : UART_RX_NO_CHAR;
}

void uart_tx_strn(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        while ((WORD(UART_STATE) & TX_FULL) != 0) {
        }
        WORD(UART) = (uint8_t)text[i];
    }
}
