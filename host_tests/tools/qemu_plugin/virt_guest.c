// SPDX-License-Identifier: MIT
/** A program for QEMU's -M virt with a 32-bit core, which drives the NPU and checks the GIC. */
#include "guest.h"

#define VIRT_NPU 0x0C100000u
#define VIRT_SRAM 0x0C200000u
#define GIC_DISTRIBUTOR 0x08000000u
#define GICD_ISPENDR 0x200u
#define INTERRUPT (32u + 100u)

#define VIRT(reg) (*word(VIRT_NPU + (reg)))

enum { RUN = 1, CLEAR_IRQ = 2, NON_SECURE = 2, OP_STOP = 0xFFFF0000 };

static inline void call(int number, const void *argument)
{
    register int r0 __asm__("r0") = number;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("svc 0x123456" : "+r"(r0) : "r"(r1) : "memory", "lr");
}

void report(const char *name, uint32_t value)
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
    VIRT(NPU_QBASE) = at;
    VIRT(NPU_QSIZE) = 4;
    VIRT(NPU_CMD) = RUN;
    while (VIRT(NPU_STATUS) & STATUS_RUNNING) {
    }
    report(status, VIRT(NPU_STATUS));
    report(interrupt, pending());
    VIRT(NPU_CMD) = CLEAR_IRQ;
}

__attribute__((used)) static void run_all(void)
{
    static _Alignas(16) uint32_t in_ram;
    report("id", VIRT(NPU_ID));
    report("config", VIRT(NPU_CONFIG));
    VIRT(NPU_RESET) = NON_SECURE;
    while (VIRT(NPU_STATUS) & STATUS_RESETTING) {
    }
    report("before", pending());
    run("ram", "ram_irq", (uint32_t)&in_ram);
    run("sram", "sram_irq", VIRT_SRAM);
    report("after", pending());
    call(0x18, (const void *)0x20026);
}

__attribute__((naked, section(".text.start"))) void start(void)
{
    __asm__ volatile("ldr sp, =0x40100000\n\tb run_all");
}
