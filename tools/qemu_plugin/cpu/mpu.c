// SPDX-License-Identifier: MIT
/** Registers: Armv8-M Architecture Reference Manual (Arm DDI 0553), D1.2, MPU_*. */
#include "cpu/mpu.h"

#include <stddef.h>

/** Offsets from MPU_BASE. */
enum mpu_register {
    TYPE = 0x00,
    CTRL = 0x04,
    RNR = 0x08,
    RBAR = 0x0C,
    RLAR = 0x10,
    MAIR0 = 0x30,
};

#define CTRL_ENABLE 0x1u
#define RBAR_READ_ONLY 0x4u
#define RLAR_ENABLE 0x1u
#define ADDRESS_MASK 0xFFFFFFE0u
#define REGION_MAX 16u

/** Memory from `first` to `last`, inclusive. */
struct region {
    uint32_t first;
    uint32_t last;
    enum coherence_attribute attribute;
};

static struct region regions[REGION_MAX];
static size_t region_count;

/** Decode a byte of MAIR0 or MAIR1: outer attributes in the upper half, inner ones below. */
static enum coherence_attribute attribute_of(uint32_t byte)
{
    uint32_t inner = byte & 0xFu;
    if (byte >> 4 == 0 || inner == 0x4) {
        return COHERENCE_UNCACHED; // Device memory, or Normal memory that is not cached
    }
    return inner & 0x4 ? COHERENCE_WRITE_BACK : COHERENCE_WRITE_THROUGH;
}

/** Access to QEMU's registers. */
struct access {
    MemoryRegion *registers;
    uint64_t offset;
    MemTxAttrs attributes;
};

static uint32_t get(const struct access *access, uint32_t offset)
{
    uint64_t value = 0;
    memory_region_dispatch_read(access->registers, access->offset + offset, &value, MEMOP_WORD,
                                access->attributes);
    return (uint32_t)value;
}

static void set(const struct access *access, uint32_t offset, uint32_t value)
{
    memory_region_dispatch_write(access->registers, access->offset + offset, value, MEMOP_WORD,
                                 access->attributes);
}

static void note_region(const struct access *access, uint32_t number)
{
    set(access, RNR, number);
    uint32_t base = get(access, RBAR), limit = get(access, RLAR);
    uint32_t index = limit >> 1 & 7u;
    uint32_t byte = get(access, MAIR0 + index / 4 * 4) >> index % 4 * 8 & 0xFFu;
    enum coherence_attribute attribute = attribute_of(byte);
    if (attribute == COHERENCE_WRITE_THROUGH && base & RBAR_READ_ONLY) {
        attribute = COHERENCE_WRITE_BACK; // equivalent for read-only memory, and barriers skip it
    }
    if (limit & RLAR_ENABLE && region_count < REGION_MAX) {
        regions[region_count++] =
            (struct region){base & ADDRESS_MASK, limit | ~ADDRESS_MASK, attribute};
    }
}

void mpu_read(MemoryRegion *registers, uint64_t offset, MemTxAttrs attributes)
{
    const struct access access = {registers, offset, attributes};
    if (!(get(&access, CTRL) & CTRL_ENABLE)) {
        return;
    }
    uint32_t count = get(&access, TYPE) >> 8 & 0xFFu, selected = get(&access, RNR);
    region_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        note_region(&access, i);
    }
    set(&access, RNR, selected);
}

void mpu_reset(void)
{
    region_count = 0;
}

enum coherence_attribute mpu_attribute(uint64_t address, uint64_t *end)
{
    enum coherence_attribute attribute = COHERENCE_WRITE_BACK;
    for (size_t i = 0; i < region_count; i++) {
        uint64_t first = regions[i].first, behind = (uint64_t)regions[i].last + 1;
        if (address >= first && address < behind) {
            attribute = regions[i].attribute;
            *end = behind < *end ? behind : *end;
        } else if (first > address && first < *end) {
            *end = first;
        }
    }
    return attribute;
}
