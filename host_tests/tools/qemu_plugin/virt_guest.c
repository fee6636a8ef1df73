// SPDX-License-Identifier: MIT
/** A program for QEMU's -M virt with a 32-bit core, which drives the NPU and checks the GIC. */
#include <stdint.h>

#define NPU 0x0C100000u
#define SRAM 0x0C200000u
#define GIC_DISTRIBUTOR 0x08000000u
#define GICD_ISPENDR 0x200u
#define INTERRUPT (32u + 100u)

enum {
    ID = 0x00,
    STATUS = 0x04,
    CMD = 0x08,
    RESET = 0x0C,
    QBASE = 0x10,
    QSIZE = 0x20,
    CONFIG = 0x28
};
enum { RUN = 1, CLEAR_IRQ = 2, RUNNING = 1, RESETTING = 8, NON_SECURE = 2, OP_STOP = 0xFFFF0000 };

static inline void call(int number, const void *argument)
{
    register int r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
}

static volatile uint32_t *word(uint32_t address)
{
    return (volatile uint32_t *)address;
}

static void report(const char *name, uint32_t value)
{
    char text[] = "=0x00000000\n";
    for (int i = 10; i > 2; i--, value >>= 4) {
        text[i] = "0123456789abcdef"[value & 15];
    }
    call(4, name);
    call(4, text);
}

static uint32_t pending(void)
{
    return *word(GIC_DISTRIBUTOR + GICD_ISPENDR + INTERRUPT / 32 * 4) >> INTERRUPT % 32 & 1;
}

/** Run a command stream that only ends, stored at `at`. */
static void run(const char *status, const char *interrupt, uint32_t at)
{
    *word(at) = OP_STOP;
    *word(NPU + QBASE) = at;
    *word(NPU + QSIZE) = 4;
    *word(NPU + CMD) = RUN;
    while (*word(NPU + STATUS) & RUNNING) {
    }
    report(status, *word(NPU + STATUS));
    report(interrupt, pending());
    *word(NPU + CMD) = CLEAR_IRQ;
}

__attribute__((used)) static void run_all(void)
{
    static _Alignas(16) uint32_t in_ram;
    report("id", *word(NPU + ID));
    report("config", *word(NPU + CONFIG));
    *word(NPU + RESET) = NON_SECURE;
    while (*word(NPU + STATUS) & RESETTING) {
    }
    report("before", pending());
    run("ram", "ram_irq", (uint32_t)&in_ram);
    run("sram", "sram_irq", SRAM);
    report("after", pending());
    call(0x18, (const void *)0x20026);
}

__attribute__((naked, section(".text.start"))) void start(void)
{
    __asm__ volatile("ldr sp, =0x40100000\n\tb run_all");
}
