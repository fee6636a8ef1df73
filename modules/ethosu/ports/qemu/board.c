// SPDX-License-Identifier: MIT
/**
 * The board MPS3-AN547 in MicroPython's qemu port: its memories, its NPU, the NPU's interrupt, and
 * the port's clock. QEMU has no data cache, so there is nothing to maintain.
 */
#include "ethosu_board.h"

#include <string.h>

#define WORD(address) (*(volatile uint32_t *)(address))
#define NVIC_ENABLE 0xE000E100u
#define NVIC_DISABLE 0xE000E180u
#define VECTOR_TABLE 0xE000ED08u

/** Numbers of the core's own exceptions come before those of interrupts. */
#define EXCEPTIONS 16u
#define NPU_IRQ 56u

/** Vectors of the port, which has none for interrupts. */
extern const uint32_t isr_vector[EXCEPTIONS];
/** The port's clock; SysTick wakes the CPU each millisecond. */
extern uintptr_t ticks_ms(void);

static const struct ethosu_memory memories[] = {
    {
        .name = "SSRAM", // code and data, with Python's heap
        .start = (void *)0x01000000,
        .end = (void *)0x01200000,
        .masters = ETHOSU_MASTERS_ALL,
        .cache = ETHOSU_CACHE_NONE,
    },
    {
        .name = "DDR",
        .start = (void *)0x60000000,
        .end = (void *)0x70000000,
        .masters = ETHOSU_MASTERS_ALL,
        .cache = ETHOSU_CACHE_NONE,
    },
};

static const struct ethosu_npu npu = {
    .base = 0x48102000,
    .irq = NPU_IRQ,
    .secure = true,
    .privileged = true,
};

const struct ethosu_board ethosu_board = {
    .name = "mps3-an547",
    .memories = memories,
    .memory_count = 2,
    .npus = &npu,
    .npu_count = 1,
};

/** Without the plugin the register reads as 0, which the NPU's first one, ID, never does. */
bool ethosu_ext_board_npu_present(size_t index)
{
    return index == 0 && WORD(npu.base) != 0;
}

/* ---- interrupt ---- */

static uint32_t vectors[EXCEPTIONS + NPU_IRQ + 1] __attribute__((aligned(512)));
static void (*handle)(void *argument);
static void *handle_argument;

static void on_npu(void)
{
    handle(handle_argument);
}

void ethosu_ext_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    (void)index;
    handle = handler;
    handle_argument = argument;
    memcpy(vectors, isr_vector, sizeof isr_vector);
    vectors[EXCEPTIONS + NPU_IRQ] = (uint32_t)on_npu;
    WORD(VECTOR_TABLE) = (uint32_t)vectors;
    __asm__ volatile("dsb" ::: "memory");
    WORD(NVIC_ENABLE + NPU_IRQ / 32 * 4) = 1u << NPU_IRQ % 32;
}

void ethosu_ext_board_irq_disconnect(size_t index)
{
    (void)index;
    WORD(NVIC_DISABLE + NPU_IRQ / 32 * 4) = 1u << NPU_IRQ % 32;
    __asm__ volatile("dsb\n isb" ::: "memory");
}

/* ---- time ---- */

uint32_t ethosu_ext_board_ticks_ms(void)
{
    return ticks_ms();
}

void ethosu_ext_board_idle(const volatile uint32_t *flag, uint64_t at_most_ms)
{
    (void)at_most_ms; // a tick comes earlier
    __asm__ volatile("cpsid i" ::: "memory");
    if (*flag == 0) {
        __asm__ volatile("wfi" ::: "memory"); // also ends for an interrupt that is masked
    }
    __asm__ volatile("cpsie i" ::: "memory");
}
