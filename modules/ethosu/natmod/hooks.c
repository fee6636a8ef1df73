// SPDX-License-Identifier: MIT
/**
 * Hooks of driver and runtime for a native .mpy: a board described at run
 * time, no interrupt, one thread. Nothing blocks. Python does the waiting, and
 * when it reports a time-out, each wait here ends immediately.
 */
#include "hooks.h"

#include <stdbool.h>

#include "ethosu_driver.h"
#include "ethosu_memory.h"

struct ethosu_board natmod_board;
/** Interrupts that were enabled, as bits by NPU of the board. */
uint32_t natmod_irqs;

struct semaphore {
    uint32_t count;
    bool used;
};

struct semaphore natmod_semaphores[NATMOD_NPUS];

void *ethosu_mutex_create(void)
{
    return natmod_semaphores; // any address will do with a single thread
}

int ethosu_mutex_lock(void *mutex)
{
    (void)mutex;
    return 0;
}

int ethosu_mutex_unlock(void *mutex)
{
    (void)mutex;
    return 0;
}

void *ethosu_semaphore_create(void)
{
    for (unsigned i = 0; i < NATMOD_NPUS; i++) {
        if (!natmod_semaphores[i].used) {
            natmod_semaphores[i] = (struct semaphore){.used = true};
            return &natmod_semaphores[i];
        }
    }
    return NULL;
}

void ethosu_semaphore_destroy(void *sem)
{
    ((struct semaphore *)sem)->used = false;
}

int ethosu_semaphore_give(void *sem)
{
    ((struct semaphore *)sem)->count++;
    return 0;
}

int ethosu_semaphore_take(void *sem, uint64_t timeout)
{
    struct semaphore *semaphore = sem;
    (void)timeout;
    if (semaphore->count == 0) {
        return -1;
    }
    semaphore->count--;
    return 0;
}

/* ---- data cache: Armv7-M and v8-M Architecture Reference Manual, cache maintenance ---- */

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define CCR REGISTER(0xE000ED14u)
#define CCR_DATA_CACHE (1u << 16)
#define CTR REGISTER(0xE000ED7Cu) /**< 19:16: log2 of the smallest line, in words */
#define CLEAN_BY_ADDRESS 0xE000EF68u
#define CLEAN_AND_INVALIDATE_BY_ADDRESS 0xE000EF70u

static uint32_t cache_line(void)
{
    return CCR & CCR_DATA_CACHE ? 4u << (CTR >> 16 & 0xF) : 0;
}

/* ---- interrupts: Nested Vectored Interrupt Controller, 32 a register ---- */

#define IRQ_BIT(irq) (1u << ((irq) % 32))
#define IRQ_ENABLE(irq) REGISTER(0xE000E100u + (irq) / 32 * 4)
#define IRQ_DISABLE(irq) REGISTER(0xE000E180u + (irq) / 32 * 4)
#define IRQ_CLEAR_PENDING(irq) REGISTER(0xE000E280u + (irq) / 32 * 4)

void hooks_deinit(void)
{
    for (unsigned i = 0; i < natmod_board.npu_count; i++) {
        unsigned irq = natmod_board.npus[i].irq;
        if (natmod_irqs >> i & 1) {
            IRQ_CLEAR_PENDING(irq) = IRQ_BIT(irq);
            IRQ_ENABLE(irq) = IRQ_BIT(irq);
        }
    }
    natmod_irqs = 0;
}

static void disable_interrupts(void)
{
    for (unsigned i = 0; i < natmod_board.npu_count; i++) {
        unsigned irq = natmod_board.npus[i].irq;
        if (IRQ_ENABLE(irq) & IRQ_BIT(irq)) {
            natmod_irqs |= 1u << i;
            IRQ_DISABLE(irq) = IRQ_BIT(irq);
        }
    }
    __asm volatile("dsb\n isb" ::: "memory");
}

void hooks_init(const struct ethosu_board *board)
{
    hooks_deinit();
    natmod_board = board == NULL ? (struct ethosu_board){.name = NULL} : *board;
    natmod_board.cache_line = cache_line();
    disable_interrupts();
    ethosu_ext_memory_use(&natmod_board);
}

static void maintain(uint32_t operation, const uint64_t *base, const size_t *size, int count)
{
    uint32_t line = natmod_board.cache_line;
    if (line == 0) {
        return;
    }
    __asm volatile("dsb" ::: "memory");
    for (int i = 0; i < count; i++) {
        uint32_t end = (uint32_t)base[i] + size[i];
        for (uint32_t at = (uint32_t)base[i] & ~(line - 1); at < end; at += line) {
            REGISTER(operation) = at;
        }
    }
    __asm volatile("dsb\n isb" ::: "memory");
}

void ethosu_flush_dcache(const uint64_t *base, const size_t *size, int count)
{
    maintain(CLEAN_BY_ADDRESS, base, size, count);
}

void ethosu_invalidate_dcache(const uint64_t *base, const size_t *size, int count)
{
    // Clean too: the first and the last line may hold data of others.
    maintain(CLEAN_AND_INVALIDATE_BY_ADDRESS, base, size, count);
}
