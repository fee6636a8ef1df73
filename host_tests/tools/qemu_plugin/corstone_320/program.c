// SPDX-License-Identifier: MIT
/**
 * A program for Corstone-320 at its secure addresses: it prints what it finds there by UART0, and
 * echoes a line that arrives by interrupt.
 */
#define UART 0x58203000u
#define SYSTICK_HANDLER fault
static void fault(void);
#include "semihost.h"

static volatile uint32_t *word(uintptr_t address)
{
    return (volatile uint32_t *)address;
}

enum { UART_DATA = 0, UART_STATE = 4, UART_CONTROL = 8, UART_INTERRUPT = 12 };
enum { RECEIVED_IRQ = 33, SENT_IRQ = 34 };

static volatile uint32_t received, sent, line_end;

static void received_interrupt(void)
{
    *word(UART + UART_INTERRUPT) = 2;
    while (*word(UART + UART_STATE) & 2) {
        uint32_t byte = *word(UART + UART_DATA);
        received++;
        *word(UART + UART_DATA) = byte;
        line_end |= byte == '\n';
    }
}

static void sent_interrupt(void)
{
    *word(UART + UART_INTERRUPT) = 1;
    sent++;
}

/** The vector table with the UART's interrupts, in SRAM. */
__attribute__((aligned(512))) static const void *table[128];

static void enable(unsigned number, void (*handler)(void))
{
    table[16 + number] = (const void *)handler;
    *word(0xE000E100u + 4 * (number / 32)) = 1u << number % 32;
}

/** Why the last access or instruction failed: bits of CFSR; it is skipped. */
static volatile uint32_t cause;

/** The return address is the seventh word of the frame; all that fault here have four bytes. */
__attribute__((naked)) static void fault(void)
{
    __asm__ volatile("ldr r0, [sp, #24]\n adds r0, #4\n str r0, [sp, #24]\n"
                     "ldr r1, =0xE000ED28\n ldr r2, [r1]\n str r2, [r1]\n"
                     "ldr r0, =cause_of_fault\n str r2, [r0]\n bx lr");
}

extern volatile uint32_t cause_of_fault __attribute__((alias("cause")));

/** Word loads and PACBTI, in encodings of four bytes; the assembler may not know them. */
static uint32_t cause_of_load(uintptr_t address)
{
    cause = 0;
    __asm__ volatile("ldr.w r3, [%0]" : : "r"(address) : "r3", "memory");
    return cause;
}

static uint32_t cause_of_hints(void)
{
    uint32_t link = 0;
    cause = 0;
    __asm__ volatile("mov r12, #42\n"
                     ".inst.w 0xF3AF801D\n" // PAC
                     ".inst.w 0xF3AF800D\n" // PACBTI
                     ".inst.w 0xF3AF800F\n" // BTI
                     ".inst.w 0xF3AF802D\n" // AUT
                     "mov %0, r12"
                     : "=r"(link)
                     :
                     : "r12", "memory");
    return link == 42 ? cause : 1;
}

/** Of PACBTI, and no hints. */
static void lacking(const char *word)
{
    if (*word == 'p') {
        __asm__ volatile(".inst.w 0xFB61F302" : : : "r3"); // PACG r3, r1, r2
    } else if (*word == 'a') {
        __asm__ volatile(".inst.w 0xFB510F02" : : : "memory"); // AUTG r0, r1, r2
    } else if (*word == 'b') {
        __asm__ volatile(".inst.w 0xFB510F12" : : : "memory"); // BXAUT r0, r1, r2
    }
}

/** Is what is written at one address found at the other? */
static uint32_t same(uintptr_t one, uintptr_t other)
{
    *word(one) = 0x12345678u;
    *word(other) = 0x9ABCDEF0u;
    return *word(one) == 0x9ABCDEF0u;
}

static void examine(void)
{
    print("cpu", *word(0xE000ED00u));
    print("npu", *word(0x50004000u) >> 28);
    print("npu_same", *word(0x50004000u) == *word(0x40004000u));
    print("adapter_0", *word(0x50006038u));
    print("adapter_1", *word(0x50006838u));
    print("itcm", same(0x10001000u, 0x00001000u));
    print("sram", same(0x121FF000u, 0x011FF000u));
    print("dtcm", same(0x30000100u, 0x20000100u));
    print("isram", same(0x313FFFFCu, 0x213FFFFCu));
    print("qspi", same(0x387FFFFCu, 0x287FFFFCu));
    print("ddr", same(0x6FFFFFFCu, 0x7FFFFFFCu) + same(0x70000000u, 0x90000000u));
    print("ddr_end", same(0xDFFFFFFCu, 0xDFFFFFFCu));
    print("system", same(0x58021000u, 0x48021000u));
    *word(0x11000400u) = 0;
    print("rom_load", cause_of_load(0x11000400u));
    print("nothing", cause_of_load(0x13000000u));
    print("tcm_end", cause_of_load(0x10008000u));
    print("hints", cause_of_hints());
    print("power", *word(0xE001E300u));
    *word(0xE001E300u) = 0xFFFFFF10u;
    print("power_set", *word(0xE001E300u));
}

/** A function of its own, so that its vector instructions come after their unit is on. */
__attribute__((noinline)) static void run(void)
{
    static char words[64];
    const struct {
        char *text;
        uint32_t size;
    } line = {words, sizeof words};
    semihost(0x15, &line);
    *word(UART + 16) = 25000000u / 115200u;
    *word(UART + UART_CONTROL) = 3;
    *word(0xE000ED24u) |= 7u << 16; // faults have their own handlers
    for (unsigned i = 0; i < 16; i++) {
        table[i] = i < 2 ? vectors[i] : (const void *)fault;
    }
    print("vectors", *word(0xE000ED08u));
    *word(0xE000ED08u) = (uintptr_t)table;
    examine();
    for (const char *at = words; *at != '\0'; at++) { // the first word is the image's name
        if (*at == ' ') {
            lacking(at + 1);
        }
    }
    enable(RECEIVED_IRQ, received_interrupt);
    enable(SENT_IRQ, sent_interrupt);
    __asm__ volatile("cpsid i" ::: "memory");
    *word(UART + UART_CONTROL) = 15;
    received_interrupt(); // a byte that came before its interrupt was on causes none
    __asm__ volatile("cpsie i");
    put("ready\n");
    for (;;) {
        __asm__ volatile("cpsid i" ::: "memory");
        if (line_end) {
            break;
        }
        __asm__ volatile("wfi\n cpsie i" ::: "memory");
    }
    print("received", received);
    print("sent", sent > received);
    leave(0);
}

void reset(void)
{
    start_counter();
    run();
}
