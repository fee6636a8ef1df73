// SPDX-License-Identifier: MIT
/** Start-up, interrupts and semihosting of the test program. */
#include "guest.h"

#define ISER(number) (*word(0xE000E100 + 4 * ((number) / 32)))
#define ICER(number) (*word(0xE000E180 + 4 * ((number) / 32)))
#define ISPR(number) (*word(0xE000E200 + 4 * ((number) / 32)))

enum semihosting { SYS_WRITE0 = 0x04, SYS_GET_CMDLINE = 0x15, SYS_EXIT_EXTENDED = 0x20 };
#define STOPPED_APPLICATION_EXIT 0x20026

extern uint32_t stack_top;
extern const struct scenario scenarios[], scenarios_end[];
volatile uint32_t irq_count[96];

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void finish(int code)
{
    const uint32_t reason[2] = {STOPPED_APPLICATION_EXIT, (uint32_t)code};
    semihost(SYS_EXIT_EXTENDED, reason);
    for (;;) {
    }
}

void report(const char *name, uint32_t value)
{
    static char number[] = "=0x00000000\n";
    for (unsigned digit = 0; digit < 8; digit++) {
        number[3 + digit] = "0123456789abcdef"[value >> (28 - 4 * digit) & 15];
    }
    semihost(SYS_WRITE0, name);
    semihost(SYS_WRITE0, number);
}

void irq_enable(unsigned number)
{
    ISER(number) = 1u << number % 32;
}

bool irq_pending(unsigned number)
{
    return ISPR(number) >> number % 32 & 1;
}

void sleep_until_changed(volatile uint32_t *counter, uint32_t seen)
{
    for (;;) {
        __asm__ volatile("cpsid i" ::: "memory");
        bool changed = *counter != seen;
        if (!changed) {
            __asm__ volatile("dsb; wfi" ::: "memory");
        }
        __asm__ volatile("cpsie i; isb" ::: "memory");
        if (changed) {
            return;
        }
    }
}

static void irq_handler(void)
{
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    uint32_t number = exception - 16;
    irq_count[number]++;
    if (number == NPU_IRQ) {
        npu_interrupt();
    } else {
        ICER(number) = 1u << number % 32;
    }
}

static void fault_handler(void)
{
    uint32_t exception;
    __asm__ volatile("mrs %0, ipsr" : "=r"(exception));
    report("fault", exception);
    finish(3);
}

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

__attribute__((noreturn)) static void run_scenario(void)
{
    static char name[64];
    struct {
        char *text;
        uint32_t size;
    } command_line = {name, sizeof name};
    semihost(SYS_GET_CMDLINE, &command_line);
    for (const struct scenario *scenario = scenarios; scenario < scenarios_end; scenario++) {
        if (equal(scenario->name, name)) {
            scenario->run();
            finish(0);
        }
    }
    finish(4);
}

void reset_handler(void);
void reset_handler(void)
{
    *word(0xE000ED88) |= 0xFu << 20; // floating point and vectors on
    __asm__ volatile("dsb; isb; cpsie i");
    run_scenario();
}

typedef void (*vector)(void);
__attribute__((section(".vectors"), used)) static const vector vectors[16 + 96] = {
    [0] = (vector)&stack_top,
    [1] = reset_handler,
    [2 ... 15] = fault_handler,
    [16 ... 16 + 95] = irq_handler,
};
