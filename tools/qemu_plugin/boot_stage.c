// SPDX-License-Identifier: MIT
/**
 * The boot stage that starts an image, as code of the guest, since a plugin cannot set registers of
 * the core. It writes the registers of the table, and then starts the image like most loaders:
 * vector table, stack from its word 0, jump to word 1.
 */
#include "boot_stage.h"

#include <stddef.h>
#include <string.h>

#include "board.h"
#include "board_memory.h"
#include "qemu_api.h"

#define SIZE 0x1000u

/** Over the memory in which it is, so that nothing overwrites it. */
#define PRIORITY 1

/** Thumb code for the address VECTORS_SIZE; the pairs of address and value follow it. */
static const uint16_t code[] = {
    0xA009,         //       adr   r0, pairs
    0xE8F0, 0x1202, // next: ldrd  r1, r2, [r0], #8
    0xB109,         //       cbz   r1, leave
    0x600A,         //       str   r2, [r1]
    0xE7FA,         //       b     next
    0xF3BF, 0x8F4F, // leave: dsb
    0xF3BF, 0x8F6F, //       isb
    0xF381, 0x880A, //       msr   msplim, r1, which is 0
    0x4802,         //       ldr   r0, =0xE000ED08 (VTOR)
    0x6002,         //       str   r2, [r0]
    0xF8D2, 0xD000, //       ldr   sp, [r2]
    0xF8D2, 0xF004, //       ldr   pc, [r2, #4]
    0xED08, 0xE000, //       the constant
};

enum { VECTORS_SIZE = 8, PAIRS = VECTORS_SIZE + sizeof code };

void boot_stage_create(uint32_t jump_address)
{
    const struct board_boot *boot = &board()->chip->boot;
    MemoryRegion *region = board_memory_create_ram("boot-stage", boot->stage, SIZE, PRIORITY);
    uint8_t *memory = memory_region_get_ram_ptr(region);
    const uint32_t vectors[] = {boot->stack, (boot->stage + VECTORS_SIZE) | 1u};
    struct board_value pairs[BOARD_LEAVES_MAX + 1] = {0};
    size_t count = 0;
    while (count < BOARD_LEAVES_MAX && boot->leaves[count].address) {
        pairs[count] = boot->leaves[count];
        count++;
    }
    pairs[count].value = jump_address;
    memcpy(memory, vectors, sizeof vectors);
    memcpy(memory + VECTORS_SIZE, code, sizeof code);
    memcpy(memory + PAIRS, pairs, sizeof pairs);
    memory_region_set_readonly(region, true);
}
