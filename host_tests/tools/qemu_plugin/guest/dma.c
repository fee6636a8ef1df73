// SPDX-License-Identifier: MIT
/** Scenarios of the DMA controller. Registers: Arm DDI 0218 (PL081), chapter 3. */
#include "guest.h"

#define DMA_BASE 0x41200000u
#define DMA_IRQ 58u
#define DMA(reg) (*word(DMA_BASE + (reg)))

enum dma_register {
    TC_STATUS = 0x004,
    TC_CLEAR = 0x008,
    ERROR_STATUS = 0x00C,
    ERROR_CLEAR = 0x010,
    ENABLED = 0x01C,
    CONFIGURATION = 0x030,
};

/** Registers of channel 1, and the items of a list. */
struct piece {
    uint32_t source, destination, next, control;
};
#define CHANNEL ((volatile struct piece *)(DMA_BASE + 0x120))
#define CHANNEL_CONFIGURATION DMA(0x130)

#define BIT 2u        /**< of channel 1 in the status registers */
#define START 0xC001u /**< enable, both interrupts */
#define UNITS_MAX 4095u

/** Terminal count interrupt, both addresses incremented, both sides 1 << `shift` bytes wide. */
static uint32_t control(unsigned shift, uint32_t units)
{
    return 1u << 31 | 3u << 26 | shift << 21 | shift << 18 | units;
}

static void start_piece(struct piece first)
{
    DMA(CONFIGURATION) = 1;
    *CHANNEL = first;
    __asm__ volatile("dsb" ::: "memory"); // what the transfer reads is in memory
    CHANNEL_CONFIGURATION = START;
}

static void start(uint32_t from, uint32_t to, unsigned shift, uint32_t units)
{
    start_piece((struct piece){from, to, 0, control(shift, units)});
}

#define PENDING_CLEAR (*word(0xE000E280 + 4 * (DMA_IRQ / 32)))

/** Sleep until the interrupt; returns 1 for terminal count, 2 for an error. */
static uint32_t wait(void)
{
    uint32_t seen = irq_count[DMA_IRQ];
    irq_enable(DMA_IRQ);
    sleep_until_changed(&irq_count[DMA_IRQ], seen);
    uint32_t reasons = (DMA(TC_STATUS) & BIT ? 1 : 0) | (DMA(ERROR_STATUS) & BIT ? 2 : 0);
    DMA(TC_CLEAR) = BIT;
    DMA(ERROR_CLEAR) = BIT;
    PENDING_CLEAR = 1u << DMA_IRQ % 32; // the line was high when its handler left
    return reasons;
}

static void fill(uintptr_t address, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        bytes_at(address)[i] = (uint8_t)(i * 7 + (i >> 8));
    }
}

static uint32_t matching(uintptr_t a, uintptr_t b, size_t size)
{
    size_t count = 0;
    while (count < size && bytes_at(a)[count] == bytes_at(b)[count]) {
        count++;
    }
    return count;
}

/** Each width, between all memories. */
SCENARIO(dma_moves)
{
    static const struct {
        uint32_t from, to;
    } ways[] = {{DDR, ISRAM}, {ISRAM, SSRAM}, {SSRAM, DDR + 0x100001}, {DDR + 1, ISRAM + 3}};
    uint32_t right = 0, reasons = 0;
    for (unsigned i = 0; i < 12; i++) {
        unsigned shift = i / 4;
        uint32_t from = ways[i % 4].from & ~((1u << shift) - 1);
        uint32_t to = ways[i % 4].to & ~((1u << shift) - 1);
        fill(from, UNITS_MAX << shift);
        start(from, to, shift, UNITS_MAX);
        reasons += wait();
        right += matching(from, to, UNITS_MAX << shift) == UNITS_MAX << shift;
    }
    report("right", right);
    report("reasons", reasons);
    report("interrupts", irq_count[DMA_IRQ]);
    report("enabled", DMA(ENABLED));
}

/** Memory that only the CPU can access, then a valid transfer. */
SCENARIO(dma_refused)
{
    static const struct {
        const char *name;
        uint32_t from, to;
    } ways[] = {
        {"read_dtcm", 0x20000000, DDR},
        {"write_dtcm", DDR, 0x20001000},
        {"write_qspi", DDR, QSPI},
        {"beyond_ddr", DDR + DDR_SIZE - 8, DDR},
    };
    for (unsigned i = 0; i < 4; i++) {
        start(ways[i].from, ways[i].to, 2, 4);
        report(ways[i].name, wait());
    }
    start(DDR, ISRAM, 2, 4);
    report("good_after", wait());
}

/** A transfer that is disabled before it is due does not happen. */
SCENARIO(dma_cancel)
{
    fill(DDR, 16);
    *word(ISRAM) = 0x12345678;
    start(DDR, ISRAM, 2, UNITS_MAX);
    CHANNEL_CONFIGURATION = 0;
    for (uint32_t from = BOARD_CYCLES; BOARD_CYCLES - from < 100000;) {
    }
    report("untouched", *word(ISRAM));
    report("enabled", DMA(ENABLED));
    report("interrupts", irq_pending(DMA_IRQ));
}

/** Source, list and destination each need cache maintenance. */
SCENARIO(dma_caches)
{
    static const char *const names[] = {"all", "without_clean_source", "without_clean_list",
                                        "without_invalidate"};
    struct piece *item = (struct piece *)(DDR + 0x01000000u);
    cache_enable();
    for (uint32_t left_out = 0; left_out < 4; left_out++) {
        *word(DDR) = *word(DDR + 64) = 1 + left_out;
        *word(ISRAM) = *word(ISRAM + 64 + 32 * left_out) = 0;
        cache_clean(ISRAM, 256);
        *item = (struct piece){DDR + 64, ISRAM + 64 + 32 * left_out, 0, control(2, 4)};
        if (left_out != 1) {
            cache_clean(DDR, 128);
        }
        if (left_out != 2) {
            cache_clean((uintptr_t)item, sizeof *item);
        }
        start_piece((struct piece){DDR, ISRAM, (uint32_t)item, control(2, 4) & ~(1u << 31)});
        wait();
        if (left_out != 3) {
            cache_invalidate(ISRAM, 256);
        }
        bool right = *word(ISRAM) == 1 + left_out;
        report(names[left_out], right && *word(ISRAM + 64 + 32 * left_out) == 1 + left_out);
    }
}
