// SPDX-License-Identifier: MIT
/**
 * arm_ethos_io_memcpy() by DMA0 of the board, an Arm PL081 (Arm DDI 0218): the
 * CPU sleeps while tensors are copied.
 *
 * The controller writes whole cache lines of the destination, and the CPU the
 * few bytes before and behind them. So nobody else's data is in a line that is
 * invalidated, and the destination is always aligned; the source's alignment
 * decides how many bytes go at once.
 *
 * The CPU copies alone where the controller can't or had better not: small
 * copies, memory that only the CPU sees (the TCMs), in an interrupt handler or
 * with interrupts masked, without a controller (FVP, stock QEMU), and all that
 * a transfer which failed has left undone.
 */
#include "dma_copy.h"

#include <stddef.h>
#include <string.h>

#include "cpu.h"
#include "driver/arm_ethos_io_memcpy.h"
#include "driver/ethosu_memory.h"
#include "fault.h"
#include "irq.h"

#define DMA_BASE 0x41200000u
#define DMA_IRQ 58u

/**
 * Bytes from which on a transfer takes fewer instructions than a copy by the
 * CPU: about 440 against 42 and 9 for every 16 bytes. With the data cache on it
 * takes 700, and 9 for every line that is cleaned and discarded.
 * `ethosu bench copy [--coherence strict]` measures both.
 */
#define DMA_MIN_SIZE 704u
#define DMA_MIN_SIZE_CACHED 2560u

/** A transfer at a thousandth of the bus's speed is still in time. */
#define TIMEOUT_MS(size) (100u + (size) / 64u)

#define LINE 32u /**< bytes of a cache line, Cortex-M55 */

/** One piece of a transfer: the first registers of a channel, and the items of its list. */
struct piece {
    uint32_t source;
    uint32_t destination;
    uint32_t next; /**< address of the piece that follows, 0: none */
    uint32_t control;
};

struct channel {
    volatile struct piece piece;
    volatile uint32_t configuration;
};

struct controller {
    volatile uint32_t status;
    volatile uint32_t done_status;
    volatile uint32_t done_clear;
    volatile uint32_t error_status;
    volatile uint32_t error_clear;
    uint32_t unused_0[7];
    volatile uint32_t configuration;
    uint32_t unused_1[51];
    struct channel channel; /**< the first of two, which has the higher priority */
    uint32_t unused_2[0x3B3];
    volatile uint32_t peripheral_id[4];
};

_Static_assert(offsetof(struct controller, configuration) == 0x030, "as in DDI 0218, table 3-1");
_Static_assert(offsetof(struct controller, channel) == 0x100, "as in DDI 0218, table 3-1");
_Static_assert(offsetof(struct controller, peripheral_id) == 0xFE0, "as in DDI 0218, table 3-1");

enum {
    CHANNEL_BIT = 1u << 0, /**< in the status registers */
    ENABLE = 1u << 0,      /**< of the controller, and of a channel */
    INTERRUPTS = 3u << 14, /**< of a channel: error and terminal count */
    UNITS_MAX = 0xFFF,     /**< of one piece */
};

/** Control word: bursts of 16, both addresses step. */
#define CONTROL(shift, units) \
    ((units) | 3u << 12 | 3u << 15 | (shift) << 18 | (shift) << 21 | 3u << 26)
#define CONTROL_INTERRUPT (1u << 31) /**< when this piece is done */

#define PART_NUMBER 0x081u

static struct controller *const dma = (struct controller *)DMA_BASE;

static enum { UNKNOWN, ABSENT, PRESENT } presence;

/** What the board's table says of the list, and of both ends of the transfer under way. */
static struct {
    const struct ethosu_memory *list;
    const struct ethosu_memory *source;
    const struct ethosu_memory *destination;
} memories;

static bool disabled;
static struct dma_counters counters;

/** Pieces that follow each other without an interrupt: 512 KB of words. */
#define LIST_LENGTH 32

/** Where the controller can read it; see memory.ld. */
static struct piece list[LIST_LENGTH] __attribute__((section(".dma_list"), aligned(LINE)));

/** The transfer under way; the interrupt handler goes on with it list by list. */
static struct {
    uintptr_t source;
    uintptr_t destination;
    size_t left;    /**< bytes */
    unsigned shift; /**< units of 1 << shift bytes */
    bool failed;
    volatile uint32_t done;
} job = {.done = 1};

/* --- The controller ------------------------------------------------------- */

/** Take the next piece off the job. */
static struct piece cut_piece(void)
{
    uint32_t units = (uint32_t)(job.left >> job.shift);
    units = units < UNITS_MAX ? units : UNITS_MAX;
    struct piece piece = {job.source, job.destination, 0, CONTROL(job.shift, units)};
    size_t size = (size_t)units << job.shift;
    job.source += size;
    job.destination += size;
    job.left -= size;
    return piece;
}

static void make_list(void)
{
    size_t last = 0;
    list[0] = cut_piece();
    while (job.left > 0 && last < LIST_LENGTH - 1) {
        list[last].next = (uint32_t)(uintptr_t)&list[last + 1];
        list[++last] = cut_piece();
    }
    list[last].control |= CONTROL_INTERRUPT;
    ethosu_memory_clean_in(memories.list, list, sizeof list);
}

static void start_list(void)
{
    make_list();
    dma->channel.piece = list[0];
    ethosu_memory_barrier(); // what the controller reads has left the CPU
    dma->channel.configuration = ENABLE | INTERRUPTS;
}

static void acknowledge(void)
{
    dma->done_clear = CHANNEL_BIT;
    dma->error_clear = CHANNEL_BIT;
}

static void on_interrupt(void *unused)
{
    bool error = dma->error_status & CHANNEL_BIT;
    bool done = dma->done_status & CHANNEL_BIT;
    acknowledge();
    if (job.done || !(error || done)) {
        return;
    }
    if (!error && job.left > 0) {
        start_list();
        return;
    }
    job.failed = error;
    job.done = 1;
}

static bool identify(void)
{
    uint32_t low, high;
    return fault_guarded_read(&dma->peripheral_id[0], &low) &&
           fault_guarded_read(&dma->peripheral_id[1], &high) &&
           ((high & 0xFu) << 8 | (low & 0xFFu)) == PART_NUMBER;
}

static bool present(void)
{
    if (presence == UNKNOWN) {
        presence = identify() ? PRESENT : ABSENT;
        memories.list = ethosu_memory_find((uintptr_t)list, sizeof list);
        if (presence == PRESENT) {
            acknowledge();
            dma->configuration = ENABLE;
            irq_connect(DMA_IRQ, on_interrupt, NULL);
        }
    }
    return presence == PRESENT;
}

/** End a transfer that does not end by itself. */
static void halt(void)
{
    uint32_t state = irq_mask();
    dma->channel.configuration = 0;
    acknowledge();
    job.done = 1;
    job.failed = true;
    irq_restore(state);
}

/* --- May it copy this? ---------------------------------------------------- */

static bool can_wait(void)
{
    return __get_IPSR() == 0 && (__get_PRIMASK() | __get_BASEPRI() | __get_FAULTMASK()) == 0;
}

/** Find the memory of a span, and ask whether the controller reaches it. */
static bool reaches(const void *start, size_t size, unsigned masters,
                    const struct ethosu_memory **memory)
{
    *memory = ethosu_memory_find((uintptr_t)start, size);
    return *memory != NULL && ((*memory)->masters & masters) == masters;
}

static bool large_enough(size_t size)
{
    return size >= DMA_MIN_SIZE_CACHED ||
           (size >= DMA_MIN_SIZE && (SCB->CCR & SCB_CCR_DC_Msk) == 0);
}

static bool suits(const void *to, const void *from, size_t size)
{
    return large_enough(size) && !disabled && can_wait() && job.done && present() &&
           reaches(from, size, ETHOSU_DMA_READS, &memories.source) &&
           reaches(to, size, ETHOSU_DMA_WRITES, &memories.destination);
}

/* --- Caches --------------------------------------------------------------- */

/** What the CPU has written comes into memory; it keeps no line of the destination. */
static void before_transfer(uint8_t *to, const uint8_t *from, size_t size)
{
    ethosu_memory_clean_in(memories.source, from, size);
    ethosu_memory_discard_in(memories.destination, to, size);
}

/** What the CPU has fetched of the destination ahead of its time is old. */
static void after_transfer(uint8_t *to, size_t size)
{
    ethosu_memory_discard_in(memories.destination, to, size);
    ethosu_memory_barrier();
}

/* --- A transfer ----------------------------------------------------------- */

static unsigned shift_for(uintptr_t source)
{
    return source % 4 == 0 ? 2 : source % 2 == 0 ? 1 : 0;
}

/** Copy whole cache lines; false: nothing certain is in the destination. */
static bool transfer(uint8_t *to, const uint8_t *from, size_t size)
{
    before_transfer(to, from, size);
    job.source = (uintptr_t)from;
    job.destination = (uintptr_t)to;
    job.left = size;
    job.shift = shift_for((uintptr_t)from);
    job.failed = false;
    job.done = 0;
    uint32_t begin = ethosu_board_ticks_ms();
    start_list();
    while (!job.done && ethosu_board_ticks_ms() - begin < TIMEOUT_MS(size)) {
        irq_wait_unless(&job.done);
    }
    if (!job.done) {
        halt();
        counters.timeouts++;
    } else if (job.failed) {
        counters.errors++;
    }
    after_transfer(to, size);
    return !job.failed;
}

static void copy_by_dma(uint8_t *to, const uint8_t *from, size_t size)
{
    size_t head = -(uintptr_t)to % LINE;
    size_t middle = (size - head) / LINE * LINE;
    memcpy(to, from, head);
    if (transfer(to + head, from + head, middle)) {
        counters.transfers++;
        counters.transfer_bytes += size;
        head += middle;
    }
    memcpy(to + head, from + head, size - head);
}

void arm_ethos_io_memcpy(void *to, const void *from, size_t size)
{
    if (suits(to, from, size)) {
        copy_by_dma(to, from, size);
        return;
    }
    memcpy(to, from, size);
    counters.cpu_copies++;
    counters.cpu_bytes += size;
}

/* --- For others ----------------------------------------------------------- */

struct dma_counters dma_counters(void)
{
    return counters;
}

void dma_enable(bool on)
{
    disabled = !on;
}

bool dma_enabled(void)
{
    return present() && !disabled;
}
