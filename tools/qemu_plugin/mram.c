// SPDX-License-Identifier: MIT
/**
 * The CPU reads MRAM like RAM. Its stores are intercepted one by one: consecutive stores that fill
 * a line take effect, as they do from the chip's store buffer. All functions belong to QEMU's big
 * lock.
 */
#include "mram.h"

#include <stdlib.h>
#include <string.h>

#include "message.h"
#include "power_cut.h"

#define LINE 16u
#define WHOLE ((1u << LINE) - 1u)

struct mram {
    MemoryRegion *region;
    const char *name;
    uint32_t base;
    uint64_t line;     /**< offset of the line being filled */
    uint32_t received; /**< one bit for each of its bytes received */
    uint8_t bytes[LINE];
};

/** Drop the bytes of an incomplete line. */
static void drop(struct mram *mram)
{
    if (mram->received != 0) {
        message(MESSAGE_GUEST_ERROR,
                "%s is written in lines of %u bytes: a store of %u bytes at 0x%08llx is lost",
                mram->name, LINE, (unsigned)__builtin_popcount(mram->received),
                (unsigned long long)(mram->base + mram->line));
    }
    mram->received = 0;
}

static void mram_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    struct mram *mram = opaque;
    const uint64_t line = offset / LINE * LINE;
    if (line != mram->line) {
        drop(mram);
    }
    mram->line = line;
    memcpy(mram->bytes + (offset - line), &value, size);
    mram->received |= ((1u << size) - 1u) << (offset - line);
    if (mram->received == WHOLE) {
        uint8_t *memory = memory_region_get_ram_ptr(mram->region);
        (void)power_cut_write(memory + line, mram->bytes, LINE); // a loss has no status
        memory_region_flush_rom_device(mram->region, line, LINE);
        mram->received = 0;
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

void mram_init(MemoryRegion *region, const char *name, uint32_t base, uint32_t size)
{
    struct mram *mram = calloc(1, sizeof *mram); // never freed
    if (!mram) {
        fatal("no memory for %s", name);
    }
    *mram = (struct mram){.region = region, .name = name, .base = base};
    memory_region_init_rom_device(region, NULL, &mram_ops, mram, name, size, NULL);
    qemu_register_reset(reset, mram);
}
