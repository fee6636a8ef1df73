// SPDX-License-Identifier: MIT
/**
 * The CPU reads MRAM like RAM. Its stores are intercepted one by one: consecutive stores that fill
 * a line take effect, as they do from the chip's store buffer. All functions belong to QEMU's big
 * lock.
 */
#include "memory/mram.h"

#include <stdlib.h>
#include <string.h>

#include "base/callbacks.h"
#include "base/message.h"
#include "board/board.h"
#include "memory/board_memory.h"
#include "memory/power_cut.h"

#define LINE 16u
#define WHOLE ((1u << LINE) - 1u)

struct mram {
    MemoryRegion *region;
    const struct board_memory *memory;
    uint64_t line;     /**< offset of the line being filled */
    uint32_t received; /**< one bit for each of its bytes received */
    uint8_t bytes[LINE];
};

/* Of a memory that cannot be written meanwhile: no board has two. They belong to the CPU's thread,
 * which also makes the stores. */
static bool executes_here; /**< the current translation block is there */
static bool fetched;       /**< one has been executed since the line's first store */

/** Drop the bytes of an incomplete line. */
static void drop(struct mram *mram)
{
    if (mram->received != 0) {
        message(MESSAGE_GUEST_ERROR,
                "%s is written in lines of %u bytes: a store of %u bytes at 0x%08llx is lost",
                mram->memory->blocks[0], LINE, (unsigned)__builtin_popcount(mram->received),
                (unsigned long long)(mram->memory->base + mram->line));
    }
    mram->received = 0;
}

/** All bytes of the line have arrived. */
static void finish(struct mram *mram)
{
    mram->received = 0;
    if (fetched) {
        message(MESSAGE_GUEST_ERROR,
                "%s cannot be written while the CPU executes code from it: the line at 0x%08llx "
                "is lost",
                mram->memory->blocks[0], (unsigned long long)(mram->memory->base + mram->line));
        return;
    }
    uint8_t *line = (uint8_t *)memory_region_get_ram_ptr(mram->region) + mram->line;
    (void)power_cut_write(line, mram->bytes, LINE); // a loss has no status
    memory_region_flush_rom_device(mram->region, mram->line, LINE);
}

static void mram_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    struct mram *mram = opaque;
    const uint64_t line = offset / LINE * LINE;
    if (line != mram->line) {
        drop(mram);
    }
    if (mram->received == 0) {
        fetched = executes_here;
    }
    mram->line = line;
    memcpy(mram->bytes + (offset - line), &value, size);
    mram->received |= ((1u << size) - 1u) << (offset - line);
    if (mram->received == WHOLE) {
        finish(mram);
    }
}

static const MemoryRegionOps mram_ops = {
    .write = mram_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8},
    .impl = {.min_access_size = 1, .max_access_size = 8},
};

/** The received bytes of a line have not reached memory. */
static void reset(void *opaque)
{
    struct mram *mram = opaque;
    mram->received = 0;
}

void mram_init(MemoryRegion *region, const struct board_memory *memory)
{
    struct mram *mram = calloc(1, sizeof *mram); // never freed
    if (!mram) {
        fatal("no memory for %s", memory->name);
    }
    *mram = (struct mram){.region = region, .memory = memory};
    memory_region_init_rom_device(region, NULL, &mram_ops, mram, memory->blocks[0], memory->size,
                                  NULL);
    qemu_register_reset(reset, mram);
}

static void execute_here(unsigned cpu, void *context)
{
    (void)cpu;
    (void)context;
    executes_here = fetched = true;
}

static void execute_elsewhere(unsigned cpu, void *context)
{
    (void)cpu;
    (void)context;
    executes_here = false;
}

void mram_watch(struct qemu_plugin_tb *tb)
{
    const uint64_t address = qemu_plugin_tb_vaddr(tb);
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *memory = &board()->memories[i];
        if (memory->access & BOARD_NO_FETCH) {
            bool here = address >= memory->base && address - memory->base < memory->size;
            callbacks_block(tb, here ? execute_here : execute_elsewhere, NULL);
        }
    }
}
