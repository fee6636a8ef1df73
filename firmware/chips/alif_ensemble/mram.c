// SPDX-License-Identifier: MIT
/**
 * MRAM takes whole lines of 16 bytes only, so the stores of a line must leave the core together:
 * nothing comes between them. The first revision of the chip cannot write it while code runs from
 * it (Alif's Driver_MRAM.c, MRAM_write()), so the stores are made by code in the ITCM.
 */
#include "mram.h"

#include "cpu.h"
#include "irq.h"
#include "mpu.h"

#define LINE 16u

/** Everything that it needs is in the ITCM, on the stack, or in `bytes`. */
__attribute__((section(".text.ram_code"), noinline)) static void
write_lines(uint8_t *at, const uint8_t *bytes, size_t size)
{
    for (size_t offset = 0; offset < size; offset += LINE) {
        volatile uint64_t *line = (volatile uint64_t *)(at + offset);
        const uint64_t *from = (const uint64_t *)(bytes + offset);
        uint64_t low = from[0];
        uint64_t high = from[1];
        line[0] = low;
        line[1] = high;
        __DSB(); // before the next line, and before code in MRAM goes on
    }
}

bool mram_write(uint8_t *at, const uint8_t *bytes, size_t size)
{
    uint32_t state = irq_mask();
    mpu_set_writable(at, true);
    write_lines(at, bytes, size);
    mpu_set_writable(at, false);
    irq_restore(state);
    return true;
}
