// SPDX-License-Identifier: MIT
/**
 * Support for a bare-metal program on stock QEMU's MPS3-AN547: output by semihosting, the vectors,
 * and SysTick, which counts executed instructions with -icount. Include it once; cost.ld links it.
 * With UART and another linker script also for other machines.
 */
#ifndef SEMIHOST_H
#define SEMIHOST_H

#include <stdint.h>

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/** Write text by semihosting, or by the CMSDK UART at UART, if that is defined. */
static void put(const char *text)
{
#ifdef UART
    for (; *text != '\0'; text++) {
        while (*(volatile uint32_t *)(UART + 4) & 1u) { // full
        }
        *(volatile uint32_t *)UART = (uint32_t)*text;
    }
#else
    semihost(4, text);
#endif
}

static void print(const char *name, uint32_t number)
{
    char digits[11];
    char *at = digits + sizeof digits - 1;
    *at = '\0';
    do {
        *--at = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    put(name);
    put(" ");
    put(at);
    put("\n");
}

#define SYST_CSR (*(volatile uint32_t *)0xE000E010u)
#define SYST_RVR (*(volatile uint32_t *)0xE000E014u)
#define SYST_CVR (*(volatile uint32_t *)0xE000E018u)

/** Floating point and MVE on; SysTick counts down from its largest value, without an interrupt. */
static void start_counter(void)
{
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    SYST_RVR = 0xFFFFFFu;
    SYST_CVR = 0;
    SYST_CSR = 5;
}

static void leave(uint32_t code)
{
    uint32_t words[2] = {0x20026, code};
    semihost(0x20, words);
    for (;;) {
    }
}

/** The program. */
void reset(void);

#ifndef SYSTICK_HANDLER
#define SYSTICK_HANDLER reset
#endif

extern char stack_top[];

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    stack_top, reset, reset, reset, [15] = SYSTICK_HANDLER,
};

#endif
