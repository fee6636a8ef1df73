// SPDX-License-Identifier: MIT
/**
 * How a board copies tensors by its DMA controller. Copy this file to
 * boards/NAME/dma.c, add it to BOARD_SRC in board.mk, and fill in the marked
 * functions; MPS3_AN547/dma.c is an example that works.
 *
 * The definition below replaces the driver's weak one by the linker's rules
 * alone: same name, not weak, in the image. Check with
 *
 *     arm-none-eabi-nm firmware.elf | grep arm_ethos_io_memcpy     # "T", one line
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cpu.h"
#include "driver/arm_ethos_io_memcpy.h"
#include "driver/ethosu_memory.h"
#include "irq.h"

/** Below this many bytes the CPU is cheaper. Measure: set-up, interrupt and cache upkeep count. */
#define DMA_MIN_SIZE 1024u

/** Bytes of a line of the CPU's data cache; 1 on a CPU without. */
#define LINE 32u

static volatile uint32_t done = 1;
static volatile bool failed;

/**
 * FILL IN: begin to copy `size` bytes, a multiple of LINE; `to` is aligned to
 * LINE, `from` is not aligned at all. Enable both interrupts, done and error.
 *
 * If one descriptor takes fewer bytes than a tensor has (a PL081 takes 4,095
 * units), make a list, or start the next piece in the interrupt handler. A
 * list lies where the controller can read it, which the stack often is not.
 */
static void controller_start(uint8_t *to, const uint8_t *from, size_t size)
{
    (void)to;
    (void)from;
    (void)size;
}

/** FILL IN: stop at once, whatever it is doing, and clear its interrupts. */
static void controller_stop(void)
{
}

/** FILL IN: clear the interrupt and say whether the transfer failed. irq_connect() it once. */
void dma_interrupt(void *unused)
{
    (void)unused;
    failed = false;
    done = 1; // the last thing: it wakes the copy below
}

/**
 * FILL IN: is the controller there? If the image also runs where it is missing,
 * probe it once with fault_guarded_read() and connect the interrupt then.
 */
static bool controller_present(void)
{
    return false;
}

/** Many controllers don't see the CPU's tightly coupled memories: the board's table says so. */
static bool controller_suits(const uint8_t *to, const uint8_t *from, size_t size)
{
    return controller_present() && ethosu_memory_reaches(from, size, ETHOSU_DMA_READS) &&
           ethosu_memory_reaches(to, size, ETHOSU_DMA_WRITES);
}

/**
 * Only who can be woken may sleep: not an interrupt handler, and nobody with
 * interrupts masked, such as the code before the start-up enables them. One
 * transfer at a time.
 */
static bool can_wait(void)
{
    return done && __get_IPSR() == 0 && (__get_PRIMASK() | __get_BASEPRI()) == 0;
}

/**
 * Caches: what the CPU wrote has to be in memory before the controller reads
 * it (clean the source). No dirty line of the destination may be evicted over
 * the new data (discard before), and none fetched ahead meanwhile may hide
 * it (discard after). Lines at the ends belong to neighbours too: so the
 * controller gets whole lines only.
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
        irq_wait_unless(&done); // looks and sleeps with interrupts masked: no wake-up is lost
    }
    if (!done) {
        controller_stop();
        failed = true;
        done = 1;
    }
    ethosu_memory_discard(to, size);
    ethosu_memory_barrier();
    return !failed;
}

/** Copies all; what the controller did not do, the CPU does. */
void arm_ethos_io_memcpy(void *dst, const void *src, size_t size)
{
    uint8_t *to = dst;
    const uint8_t *from = src;
    if (size >= DMA_MIN_SIZE && can_wait() && controller_suits(to, from, size)) {
        size_t head = -(uintptr_t)to % LINE;
        size_t middle = (size - head) / LINE * LINE;
        memcpy(to, from, head);
        to += head;
        from += head;
        size -= head;
        if (transfer(to, from, middle)) {
            to += middle;
            from += middle;
            size -= middle;
        }
    }
    memcpy(to, from, size);
}
