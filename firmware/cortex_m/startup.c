// SPDX-License-Identifier: MIT
/**
 * From reset to firmware_main(): vector table, stacks, memory, FPU, MPU.
 *
 * Threads run on their own stack and exceptions on another, so that a thread
 * that overflows its stack still gets a readable fault report.
 */
#include "startup.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "board.h"
#include "cpu.h"
#include "ethosu_memory.h"
#ifdef BOARD_EMULATED_ROMFS
#include "emulator.h"
#endif
#include "mpu.h"

/** Marks a reset record as written by startup_reset(), not left by chance. */
#define RECORD_MAGIC 0x52455345u

struct reset_record {
    uint32_t magic;
    uint32_t cause;
};

static struct reset_record record __attribute__((section(".noinit")));
static enum reset_cause this_cause;
static const char *table_fault;

_Noreturn void startup_reset_handler(void);
_Noreturn void startup_begin(void);

union vector {
    uint32_t *stack;
    void (*handler)(void);
};

#define FIRST_DEVICE 16

/** Of up to this many vectors: the table's size rounded up to a power of two, at least 128. */
#define ALIGNMENT_FOR(vectors) \
    ((vectors) <= 32    ? 128  \
     : (vectors) <= 64  ? 256  \
     : (vectors) <= 128 ? 512  \
     : (vectors) <= 256 ? 1024 \
                        : 2048)

const union vector startup_vectors[FIRST_DEVICE + BOARD_IRQ_COUNT] __attribute__((
    section(".vectors"), used, aligned(ALIGNMENT_FOR(FIRST_DEVICE + BOARD_IRQ_COUNT)))) = {
    [0] = {.stack = _handler_stack_top},
    [1] = {.handler = startup_reset_handler},
    [2 ... 7] = {.handler = startup_fault_handler},
    [11] = {.handler = startup_fault_handler},
    [12] = {.handler = startup_fault_handler},
    [14] = {.handler = startup_fault_handler},
    [15] = {.handler = startup_systick_handler},
    [FIRST_DEVICE... FIRST_DEVICE + BOARD_IRQ_COUNT - 1] = {.handler = startup_device_handler},
};

/**
 * A boot loader may have left interrupts and the MPU enabled, and its own vector table. From here
 * on, faults go to this firmware, and its variables are writable.
 */
__attribute__((naked)) _Noreturn void startup_reset_handler(void)
{
    __asm volatile("cpsid i                       \n"
                   "ldr   r0, =0xE000ED08         \n" // VTOR
                   "ldr   r1, =startup_vectors    \n"
                   "str   r1, [r0]                \n"
                   "movs  r1, #0                  \n"
                   "str   r1, [r0, #0x8C]         \n" // MPU_CTRL
                   "dsb                           \n"
                   "isb                           \n"
                   "msr   basepri, r1             \n"
                   "msr   faultmask, r1           \n"
                   "msr   msplim, r1              \n"
                   "msr   psplim, r1              \n"
                   "ldr   r0, =_handler_stack_top \n"
                   "msr   msp, r0                 \n"
                   "ldr   r0, =_handler_stack_limit \n"
                   "msr   msplim, r0              \n"
                   "ldr   r0, =_stack_top         \n"
                   "msr   psp, r0                 \n"
                   "ldr   r0, =_stack_limit       \n"
                   "msr   psplim, r0              \n"
                   "movs  r0, #2                  \n" // thread mode uses PSP
                   "msr   control, r0             \n"
                   "isb                           \n"
                   "b     startup_begin           \n");
}

static void copy_words(uint32_t *to, const uint32_t *from, const uint32_t *end)
{
    while (to < end) {
        *to++ = *from++;
    }
}

static void clear_words(uint32_t *at, const uint32_t *end)
{
    while (at < end) {
        *at++ = 0;
    }
}

/** Each byte of a stack that nothing has used yet. */
#define STACK_PAINT 0xA5u

/** Before the first interrupt, so only this function's own part of the main stack is in use. */
static void paint_stacks(void)
{
    memset(_handler_stack_limit, STACK_PAINT,
           (uintptr_t)_handler_stack_top - (uintptr_t)_handler_stack_limit);
    memset(_stack_limit, STACK_PAINT, (uintptr_t)__get_PSP() - (uintptr_t)_stack_limit);
}

struct stack_mark startup_main_stack(void)
{
    return stack_mark_find(_stack_limit, _stack_top, STACK_PAINT);
}

struct stack_mark startup_handler_stack(void)
{
    return stack_mark_find(_handler_stack_limit, _handler_stack_top, STACK_PAINT);
}

static void enable_core(void)
{
    SCB->CCR |= SCB_CCR_DIV_0_TRP_Msk | SCB_CCR_LOB_Msk | SCB_CCR_BP_Msk;
    SCB->SHCSR |= SCB_SHCSR_MEMFAULTENA_Msk | SCB_SHCSR_BUSFAULTENA_Msk |
                  SCB_SHCSR_USGFAULTENA_Msk | SCB_SHCSR_SECUREFAULTENA_Msk;
}

static void read_record(void)
{
    this_cause = RESET_POWER_ON;
    if (record.magic == RECORD_MAGIC && record.cause <= RESET_FAULT) {
        this_cause = (enum reset_cause)record.cause;
    }
    record.magic = 0;
}

/**
 * A boot loader may have left caches on, and the code that it copied here in the
 * data cache, where the core does not fetch instructions. board_init() switches
 * them on again, when the MPU has been set up with the cacheable memories.
 */
static inline void disable_caches(void)
{
    if (SCB->CCR & SCB_CCR_DC_Msk) {
        SCB_DisableDCache(); // also writes it back
    }
    SCB_DisableICache();
}

/**
 * It may also have left its interrupts on, given some to the non-secure state, which has no
 * handlers, and chosen a sleep that turns off more than the CPU, or that begins with the end of
 * each handler.
 */
static void disable_interrupts(void)
{
    SCB->SCR = 0;
    SysTick->CTRL = 0;
    SCB->ICSR = SCB_ICSR_PENDSTCLR_Msk | SCB_ICSR_PENDSVCLR_Msk;
    for (size_t i = 0; i < (BOARD_IRQ_COUNT + 31) / 32; i++) {
        NVIC->ICER[i] = UINT32_MAX;
        NVIC->ICPR[i] = UINT32_MAX;
        NVIC->ITNS[i] = 0;
    }
}

/** Memory reserved in memory.ld must be in the table, and accessible to its users. */
static const char *find_misplaced(void)
{
    static const struct {
        const char *what;
        const char *symbol;
        const uint8_t *start;
        const uint8_t *end;
        unsigned masters;
    } areas[] = {
        {"Python's heap", "_gc_heap_start", _gc_heap_start, _gc_heap_end,
         ETHOSU_NPU_READS | ETHOSU_NPU_WRITES},
        {"/rom", "_romfs_start", _romfs_start, _romfs_end, ETHOSU_NPU_READS},
        {"the RAM disk", "_ramdisk_start", _ramdisk_start, _ramdisk_end, 0},
        {"the flash disk", "_flashdisk_start", _flashdisk_start, _flashdisk_end, 0},
    };
    static char message[160];
    for (size_t i = 0; i < sizeof areas / sizeof areas[0]; i++) {
        uintptr_t start = (uintptr_t)areas[i].start;
        size_t size = (uintptr_t)areas[i].end - start;
        const struct ethosu_memory *memory = ethosu_ext_memory_find(start, size);
        if (size == 0 ||
            (memory != NULL && (memory->masters & areas[i].masters) == areas[i].masters)) {
            continue;
        }
        int used =
            snprintf(message, sizeof message, "%s, 0x%08x to 0x%08x (%s in memory.ld), ",
                     areas[i].what, (unsigned)start, (unsigned)(start + size), areas[i].symbol);
        snprintf(message + used, sizeof message - (size_t)used,
                 memory == NULL ? "is not in the board's memory table%s"
                                : "is in %.20s, which the NPU can't access",
                 memory == NULL ? "" : memory->name);
        return message;
    }
    return NULL;
}

/** The table of this board; that of the emulator has one memory more. */
static const struct ethosu_board *find_board(void)
{
#ifdef BOARD_EMULATED_ROMFS
    if (emulator_present()) {
        return &emulated_board;
    }
#endif
    return &ethosu_board;
}

_Noreturn void startup_begin(void)
{
    // Enable FPU and MVE first, because the compiler may use their registers anywhere.
    SCB->CPACR |= 0xFu << 20;
    __DSB();
    __ISB();
    disable_caches(); // before any call, because the rest of the code may be elsewhere
    disable_interrupts();
    copy_words(_data_start, _data_load, _data_end);
    copy_words(_ram_code_start, _ram_code_load, _ram_code_end);
    clear_words(_bss_start, _bss_end);
    paint_stacks();
    enable_core();
    read_record();
    ethosu_ext_memory_use(find_board());
    table_fault = mpu_enable(ethosu_ext_memory_board());
    table_fault = table_fault == NULL ? find_misplaced() : table_fault;
    board_init();
    __enable_irq();
    firmware_main();
}

const char *startup_table_fault(void)
{
    return table_fault;
}

enum reset_cause startup_reset_cause(void)
{
    return this_cause;
}

_Noreturn void startup_reset(enum reset_cause cause)
{
    __disable_irq();
    record = (struct reset_record){.magic = RECORD_MAGIC, .cause = cause};
    SCB_CleanDCache();
    NVIC_SystemReset();
}
