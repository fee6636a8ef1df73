// SPDX-License-Identifier: MIT
/** Copies by an Arm PL081, the single master DMA controller (Arm DDI 0218). */
#include "dma_controller.h"
#include "ethosu_memory.h"
#include "irq.h"
#include "primecell.h"

#define PART_NUMBER 0x081u

/** One piece of a transfer: the first registers of a channel, also the format of list items. */
struct piece {
    uint32_t source;
    uint32_t destination;
    uint32_t next; /**< address of the next piece, or 0 */
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
    uint32_t reserved_14[7];
    volatile uint32_t configuration;
    uint32_t reserved_34[51];
    struct channel channel; /**< the first of two, which has the higher priority */
};

_Static_assert(offsetof(struct controller, configuration) == 0x030, "as in DDI 0218, table 3-1");
_Static_assert(offsetof(struct controller, channel) == 0x100, "as in DDI 0218, table 3-1");

enum {
    CHANNEL_BIT = 1u << 0, /**< in the status registers */
    ENABLE = 1u << 0,      /**< of the controller, and of a channel */
    INTERRUPTS = 3u << 14, /**< of a channel: error and terminal count */
    UNITS_MAX = 0xFFF,     /**< of one piece */
};

/** Control word, without the number of units: bursts of 16, both addresses step. */
#define CONTROL(shift) (3u << 12 | 3u << 15 | (shift) << 18 | (shift) << 21 | 3u << 26)
#define CONTROL_INTERRUPT (1u << 31) /**< when this piece is done */

/** Pieces that follow each other without an interrupt: 512 KB of words. */
#define LIST_LENGTH 32

static struct piece list[LIST_LENGTH] DMA_SHARED;
static const struct ethosu_memory *list_memory;

static struct controller *controller(void)
{
    return (struct controller *)dma_board.base;
}

/** Units of 1 << shift bytes; the destination is cache-line aligned, the source arbitrary. */
static unsigned shift_for(uintptr_t source)
{
    return source % 4 == 0 ? 2 : source % 2 == 0 ? 1 : 0;
}

/** Fill the list with the next pieces, and subtract them from `rest`. */
static void make_list(struct dma_transfer *rest)
{
    const unsigned shift = shift_for(rest->from);
    const uint32_t control = CONTROL(shift), step = UNITS_MAX << shift;
    uint32_t from = (uint32_t)rest->from, to = (uint32_t)rest->to;
    uint32_t next = (uint32_t)dma_copy_bus_address(list_memory, list);
    size_t left = rest->size >> shift; // units
    struct piece *piece = list;
    for (; left > UNITS_MAX && piece < &list[LIST_LENGTH - 1]; piece++) {
        piece->source = from;
        piece->destination = to;
        piece->next = next += sizeof *piece;
        piece->control = control | UNITS_MAX;
        from += step;
        to += step;
        left -= UNITS_MAX;
    }
    const uint32_t units = left < UNITS_MAX ? (uint32_t)left : UNITS_MAX;
    *piece = (struct piece){from, to, 0, control | units | CONTROL_INTERRUPT};
    *rest = (struct dma_transfer){to + (units << shift), from + (units << shift),
                                  (left - units) << shift};
    ethosu_ext_memory_clean_in(list_memory, list, sizeof list);
}

bool dma_controller_start(struct dma_transfer *rest)
{
    make_list(rest);
    controller()->channel.piece = list[0];
    ethosu_ext_memory_barrier(); // complete writes that the controller reads
    controller()->channel.configuration = ENABLE | INTERRUPTS;
    return true;
}

static void acknowledge(void)
{
    controller()->done_clear = CHANNEL_BIT;
    controller()->error_clear = CHANNEL_BIT;
}

void dma_controller_halt(void)
{
    controller()->channel.configuration = 0;
    acknowledge();
}

static void on_interrupt(void *unused)
{
    bool error = controller()->error_status & CHANNEL_BIT;
    bool done = controller()->done_status & CHANNEL_BIT;
    acknowledge();
    if (error || done) {
        dma_copy_ended(error);
    }
}

bool dma_controller_prepare(void)
{
    list_memory = dma_copy_memory(list, sizeof list, ETHOSU_DMA_READS);
    if (list_memory == NULL || primecell_part(dma_board.base) != PART_NUMBER) {
        return false;
    }
    acknowledge();
    controller()->configuration = ENABLE;
    irq_connect(dma_board.irq, on_interrupt, NULL);
    return true;
}
