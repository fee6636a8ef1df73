// SPDX-License-Identifier: MIT
/**
 * arm_ethos_io_memcpy() by a DMA controller: the CPU sleeps while tensors are
 * copied. Replace the controller (the first part); keep the rest. A board
 * without a controller deletes this file, and the driver's memcpy() is linked.
 *
 * This definition replaces the driver's weak one. Check that it does:
 *
 *     arm-none-eabi-nm firmware.elf | grep arm_ethos_io_memcpy     # one line, with T
 */
#include <string.h>

#include "cpu.h"
#include "driver/arm_ethos_io_memcpy.h"
#include "driver/ethosu_memory.h"
#include "irq.h"

/* --- The controller: replace ------------------------------------------------ */

/**
 * Fewer bytes than this the CPU copies with fewer instructions: measure, with
 * set-up, interrupt and cache operations counted.
 */
#define DMA_MIN_SIZE 1024u

#define DMA_IRQ 30u

struct controller {
    volatile uint32_t source;
    volatile uint32_t destination;
    volatile uint32_t size; /**< bytes; writing it starts the transfer */
    volatile uint32_t status;
};

enum status { DONE = 1u << 0, FAILED = 1u << 1, STOP = 1u << 2 };

static struct controller *const dma = (struct controller *)0x40004000u;

static volatile uint32_t done = 1;
static volatile bool failed;

static void on_interrupt(void *unused)
{
    (void)unused;
    failed = dma->status & FAILED;
    dma->status = DONE | FAILED; // clears them
    done = 1;                    // last: it wakes the copy below
}

/**
 * Start to copy `size` bytes, a multiple of the cache line. `to` is on a cache
 * line, `from` at any address. A controller that takes fewer bytes at once
 * gets a list of pieces, in memory that it reads: the stack is often none.
 */
static void controller_start(uint8_t *to, const uint8_t *from, size_t size)
{
    irq_connect(DMA_IRQ, on_interrupt, NULL);
    dma->source = (uint32_t)(uintptr_t)from;
    dma->destination = (uint32_t)(uintptr_t)to;
    dma->size = (uint32_t)size;
}

/** Stop at once, whatever it is doing. */
static void controller_stop(void)
{
    irq_disconnect(DMA_IRQ);
    dma->status = STOP | DONE | FAILED;
}

/* --- The copy: keep --------------------------------------------------------- */

/** The board's table says what the controller reaches. */
static bool reaches(const uint8_t *to, const uint8_t *from, size_t size)
{
    return ethosu_memory_reaches(from, size, ETHOSU_DMA_READS) &&
           ethosu_memory_reaches(to, size, ETHOSU_DMA_WRITES);
}

/** An interrupt must be able to wake this code; and one transfer at a time. */
static bool can_wait(void)
{
    return done && __get_IPSR() == 0 &&
           (__get_PRIMASK() | __get_BASEPRI() | __get_FAULTMASK()) == 0;
}

/**
 * Whole cache lines only: a discarded line holds no bytes of others. The
 * source is cleaned, since the controller reads memory. The destination is
 * discarded before, so that no old line is written over the new bytes, and
 * after, since the CPU may have fetched old bytes meanwhile.
 */
static bool transfer(uint8_t *to, const uint8_t *from, size_t size)
{
    ethosu_memory_clean(from, size);
    ethosu_memory_discard(to, size);
    ethosu_memory_barrier();
    failed = false;
    done = 0;
    uint32_t begin = ethosu_board_ticks_ms();
    controller_start(to, from, size);
    while (!done && ethosu_board_ticks_ms() - begin < 100u + size / 64u) {
        irq_wait_unless(&done); // looks at it and sleeps with interrupts masked
    }
    if (!done) {
        controller_stop();
        failed = true;
        done = 1;
    }
    ethosu_memory_discard(to, size);
    return !failed;
}

void arm_ethos_io_memcpy(void *dst, const void *src, size_t size)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    size_t line = ethosu_memory_line();
    if (size >= DMA_MIN_SIZE && can_wait() && reaches(to, from, size)) {
        size_t head = -(uintptr_t)to % line;
        size_t middle = (size - head) / line * line;
        if (transfer(to + head, from + head, middle)) {
            memcpy(to, from, head);
            to += head + middle;
            from += head + middle;
            size -= head + middle;
        }
    }
    memcpy(to, from, size); // the rest, or all that a failed transfer left undone
}
