// SPDX-License-Identifier: MIT
/**
 * The entries of the vector table, the symbols of the linker script, and the
 * record that outlives a reset.
 */
#ifndef FIRMWARE_STARTUP_H
#define FIRMWARE_STARTUP_H

#include <stdint.h>

/** Symbols of sections.ld and of the board's memory.ld; only their addresses are meaningful. */
extern uint32_t _code_start[], _code_end[];
extern uint32_t _ram_code_load[], _ram_code_start[], _ram_code_end[];
extern uint32_t _data_load[], _data_start[], _data_end[], _bss_start[], _bss_end[];
extern uint32_t _stack_limit[], _stack_top[], _handler_stack_limit[], _handler_stack_top[];
extern uint8_t _gc_heap_start[], _gc_heap_end[];
extern uint8_t _ramdisk_start[], _ramdisk_end[];
extern uint8_t _flashdisk_start[], _flashdisk_end[];
extern uint8_t _romfs_start[], _romfs_end[];

/** Cause of the last reset, if the firmware itself triggered it. */
enum reset_cause {
    RESET_POWER_ON,
    RESET_REQUESTED,
    RESET_SLEEP,
    RESET_FAULT,
};

/** The deepest use of a stack since the start, and its size, in bytes. */
struct stack_mark {
    uint32_t used;
    uint32_t size;
};

/** The words from `limit` on that still consist of the byte `paint` have not been used. */
static inline struct stack_mark stack_mark_find(const uint32_t *limit, const uint32_t *top,
                                                uint8_t paint)
{
    const uint32_t *lowest = limit;
    while (lowest < top && *lowest == paint * 0x01010101u) {
        lowest++;
    }
    return (struct stack_mark){.used = (uint32_t)((uintptr_t)top - (uintptr_t)lowest),
                               .size = (uint32_t)((uintptr_t)top - (uintptr_t)limit)};
}

/** The stack of the program. */
struct stack_mark startup_main_stack(void);

/** The stack of all interrupts and faults. */
struct stack_mark startup_handler_stack(void);

/** Check the board's table of memories; returns NULL or a message with the error. */
const char *startup_table_fault(void);

/** Why this run of the firmware began. */
enum reset_cause startup_reset_cause(void);

/** Reset the machine and pass `cause` to the next run. */
_Noreturn void startup_reset(enum reset_cause cause);

void startup_device_handler(void);
void startup_systick_handler(void);
void startup_fault_handler(void);

/** The firmware proper. */
_Noreturn void firmware_main(void);

#endif
