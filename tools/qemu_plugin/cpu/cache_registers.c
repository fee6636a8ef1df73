// SPDX-License-Identifier: MIT
/**
 * Cache registers of a Cortex-M55 with 32 KB each of data and instruction cache.
 *
 * Small windows overlay QEMU's System Control Space and pass accesses to other registers on to
 * QEMU.
 *
 * Registers and values: Armv8-M Architecture Reference Manual (Arm DDI 0553), D1.2; Cortex-M55
 * Technical Reference Manual (Arm 101051), 4.5 and 4.6.
 */
#include "cpu/cache_registers.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cache.h"
#include "cpu/code_check.h"
#include "cpu/mpu.h"

enum system_register {
    AIRCR = 0xE000ED0C,
    CCR = 0xE000ED14,
    CLIDR = 0xE000ED78,
    MPU_CTRL = MPU_BASE + 4,
    CTR = 0xE000ED7C,
    CCSIDR = 0xE000ED80,
    CSSELR = 0xE000ED84,
    ICIALLU = 0xE000EF50,
    ICIMVAU = 0xE000EF58,
    DCIMVAC = 0xE000EF5C,
    DCISW = 0xE000EF60,
    DCCMVAU = 0xE000EF64,
    DCCMVAC = 0xE000EF68,
    DCCSW = 0xE000EF6C,
    DCCIMVAC = 0xE000EF70,
    DCCISW = 0xE000EF74,
};

#define CCR_DC 0x10000u
#define CCR_IC 0x20000u
#define AIRCR_KEY 0x05FA0000u
#define AIRCR_KEY_MASK 0xFFFF0000u
#define AIRCR_SYSRESETREQ 0x4u
#define CSSELR_INSTRUCTION 0x1u

/** One level, separate caches; lines of 8 words; D: 256 sets of 4 ways, I: 512 sets of 2. */
#define CLIDR_VALUE 0x09200003u
#define CTR_VALUE 0x8303C003u
#define CCSIDR_DATA 0xF01FE019u
#define CCSIDR_INSTRUCTION 0xF03FE009u

/** Way and set fields of an operation by set and way: 4 ways from bit 30 on, sets from bit 5 on. */
#define WAY_SHIFT 30
#define SET_SHIFT 5
#define SETS 256u
#define WAYS 4u

/** A window in the System Control Space, and QEMU's region behind it. */
struct window {
    uint32_t base;
    uint32_t size;
    MemoryRegion *original;
    uint64_t offset; /**< of `base` in `original` */
    _Alignas(max_align_t) unsigned char region[MEMORY_REGION_ROOM];
};

enum window_index { RESET_WINDOW, CONFIGURATION_WINDOW, ID_WINDOW, MPU_WINDOW, OPERATION_WINDOW };

static struct window windows[] = {
    [RESET_WINDOW] = {.base = AIRCR, .size = 4},
    [CONFIGURATION_WINDOW] = {.base = CCR, .size = 4},
    [ID_WINDOW] = {.base = CLIDR, .size = 16},
    [MPU_WINDOW] = {.base = MPU_BASE, .size = MPU_SIZE},
    [OPERATION_WINDOW] = {.base = ICIALLU, .size = 0x28},
};

static struct {
    bool data_on, instructions_on;
    uint32_t selected; /**< CSSELR */
    /** Sets and ways visited by an operation; after all of them it applies to the whole cache. */
    uint8_t visited[COHERENCE_CLEAN_INVALIDATE + 1][SETS * WAYS / 8];
} registers;

/* --- Operations by set and way -------------------------------------------- */

static void visit(enum coherence_operation operation, uint32_t value)
{
    uint8_t *visited = registers.visited[operation];
    uint32_t place = (value >> SET_SHIFT) % SETS * WAYS + (value >> WAY_SHIFT);
    visited[place / 8] |= (uint8_t)(1u << place % 8);
    size_t i = 0;
    while (i < sizeof registers.visited[0] && visited[i] == 0xFF) {
        i++;
    }
    if (i == sizeof registers.visited[0]) {
        cache_maintain_all(operation);
        memset(visited, 0, sizeof registers.visited[0]);
    }
}

/* --- Registers ------------------------------------------------------------ */

static void write_configuration(uint32_t value)
{
    registers.data_on = value & CCR_DC;
    bool instructions_on = value & CCR_IC;
    if (instructions_on != registers.instructions_on) {
        registers.instructions_on = instructions_on;
        code_check_enable(instructions_on);
    }
    cache_enable(registers.data_on);
}

/** A machine reset does not write the cache back, so uncleaned data is lost. */
static void note_reset(uint32_t value)
{
    if ((value & AIRCR_KEY_MASK) == AIRCR_KEY && value & AIRCR_SYSRESETREQ) {
        cache_maintain_all(COHERENCE_INVALIDATE);
    }
}

/**
 * Handle a write to a cache register. Returns false for other registers; QEMU gets those writes.
 */
static bool write_own(uint32_t address, uint32_t value)
{
    switch (address) {
    case CSSELR:
        registers.selected = value & 0xFu;
        return true;
    case ICIALLU:
        code_check_invalidate_all();
        return true;
    case ICIMVAU:
        code_check_invalidate(value);
        return true;
    case DCIMVAC:
        cache_maintain_line(COHERENCE_INVALIDATE, value);
        return true;
    case DCCMVAU:
    case DCCMVAC:
        cache_maintain_line(COHERENCE_CLEAN, value);
        return true;
    case DCCIMVAC:
        cache_maintain_line(COHERENCE_CLEAN_INVALIDATE, value);
        return true;
    case DCISW:
        visit(COHERENCE_INVALIDATE, value);
        return true;
    case DCCSW:
        visit(COHERENCE_CLEAN, value);
        return true;
    case DCCISW:
        visit(COHERENCE_CLEAN_INVALIDATE, value);
        return true;
    case AIRCR:
        note_reset(value);
        return false;
    default:
        return false;
    }
}

static uint32_t read_own(uint32_t address, uint32_t original)
{
    switch (address) {
    case CCR:
        return (original & ~(CCR_DC | CCR_IC)) | (registers.data_on ? CCR_DC : 0) |
               (registers.instructions_on ? CCR_IC : 0);
    case CLIDR:
        return CLIDR_VALUE;
    case CTR:
        return CTR_VALUE;
    case CCSIDR:
        return registers.selected & ~CSSELR_INSTRUCTION ? 0 // no other level
               : registers.selected                     ? CCSIDR_INSTRUCTION
                                                        : CCSIDR_DATA;
    case CSSELR:
        return registers.selected;
    default:
        return original;
    }
}

static uint32_t window_read(void *opaque, uint64_t offset, uint64_t *value, unsigned size,
                            MemTxAttrs attributes)
{
    const struct window *window = opaque;
    (void)size;
    uint32_t result = memory_region_dispatch_read(window->original, window->offset + offset, value,
                                                  MEMOP_WORD, attributes);
    *value = read_own(window->base + (uint32_t)offset, (uint32_t)*value);
    return result;
}

/** Read the MPU configuration, which has changed or takes effect now. */
static void note_attributes(MemTxAttrs attributes)
{
    const struct window *mpu = &windows[MPU_WINDOW];
    mpu_read(mpu->original, mpu->offset, attributes);
    cache_attributes_changed();
}

static uint32_t window_write(void *opaque, uint64_t offset, uint64_t value, unsigned size,
                             MemTxAttrs attributes)
{
    const struct window *window = opaque;
    uint32_t address = window->base + (uint32_t)offset;
    (void)size;
    if (write_own(address, (uint32_t)value)) {
        return 0;
    }
    uint32_t result = memory_region_dispatch_write(window->original, window->offset + offset, value,
                                                   MEMOP_WORD, attributes);
    if (address == MPU_CTRL) {
        note_attributes(attributes);
    } else if (address == CCR) {
        write_configuration((uint32_t)value);
    }
    return result;
}

/* --- Start and reset ------------------------------------------------------ */

static void map(struct window *window)
{
    static const MemoryRegionOps ops = {
        .read_with_attrs = window_read,
        .write_with_attrs = window_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 4, .max_access_size = 4},
        .impl = {.min_access_size = 4, .max_access_size = 4},
    };
    MemoryRegion *view = machine_cpu_view(), *region = (MemoryRegion *)window->region;
    MemoryRegionSection section = memory_region_find(view, window->base, window->size);
    if (!section.region || section.size[0] < window->size) {
        fatal("this QEMU's Cortex-M55 has no register at 0x%08x", window->base);
    }
    // It belongs to the CPU, which lives as long as QEMU.
    memory_region_unref(section.region);
    window->original = section.region;
    window->offset = section.offset;
    memory_region_init_io(region, NULL, &ops, window, "ethosu-caches", window->size);
    memory_region_add_subregion_overlap(view, window->base, region, 10);
}

void cache_registers_create(void)
{
    for (size_t i = 0; cache_is_requested() && i < sizeof windows / sizeof windows[0]; i++) {
        map(&windows[i]);
    }
}

void cache_registers_reset(void)
{
    memset(&registers, 0, sizeof registers);
    code_check_enable(false);
    cache_enable(false);
    mpu_reset();
}
