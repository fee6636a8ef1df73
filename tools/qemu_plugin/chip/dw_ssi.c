// SPDX-License-Identifier: MIT
/**
 * Registers and fields: Alif's chips have this controller, too (alif_ensemble-cmsis-dfp, ospi.h and
 * ospi_xip). Reads of the flash chip, a Winbond W25Q128JW: WB_25Q128JW_instruction_table.h of
 * Himax's SDK. That the registers repeat in the whole range: ThreadXShell (nor_flash.c), which saw
 * it.
 */
#include "chip/dw_ssi.h"

#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "base/region.h"
#include "board/gate.h"
#include "board/machine.h"
#include "board/registers.h"
#include "memory/board_power.h"

#define REGISTERS_SIZE 0x1000u

enum ssi_register {
    CTRLR0 = 0x000,
    SSIENR = 0x008,
    BAUDR = 0x014,
    XIP_INCR_INST = 0x100,
    XIP_WRAP_INST = 0x104,
    XIP_CTRL = 0x108,
    XIP_SER = 0x10C,
};

/** A field, and the value that every read of the chip needs. */
static const struct field {
    const char *name;
    uint32_t offset;
    unsigned shift;
    uint32_t mask;
    uint32_t value;
} needed[] = {
    {"SSIENR", SSIENR, 0, 1, 1},
    {"XIP_SER", XIP_SER, 0, 1, 1},
    {"CTRLR0.SSI_IS_MST", CTRLR0, 31, 1, 1},
    {"CTRLR0.TMOD", CTRLR0, 10, 3, 2}, // receive only
    {"CTRLR0.SCPH, SCPOL", CTRLR0, 8, 3, 0},
    {"BAUDR, bit 0", BAUDR, 0, 1, 0},
    {"XIP_CTRL.INST_EN", XIP_CTRL, 22, 1, 1},
    {"XIP_CTRL.INST_L", XIP_CTRL, 9, 3, 2},  // 8 bits
    {"XIP_CTRL.ADDR_L", XIP_CTRL, 4, 15, 6}, // 24 bits
    {"XIP_CTRL.MD_BITS_EN", XIP_CTRL, 12, 1, 0},
    {"XIP_CTRL, double rate", XIP_CTRL, 19, 7, 0},
};

/** What belongs to an instruction. */
static const struct instruction {
    uint32_t code;
    uint32_t format; /**< SPI_FRF: 1 for two data lines, 2 for four */
    uint32_t type;   /**< TRANS_TYPE: 0, the address on one line; 1, on all */
    uint32_t wait;   /**< WAIT_CYCLES */
} instructions[] = {
    {0x3B, 1, 0, 8},
    {0xBB, 1, 1, 4},
    {0x6B, 2, 0, 8},
    {0xEB, 2, 1, 6},
};
#define QUAD 2u

static struct {
    const struct board_memory *memory; /**< NULL if the board has none */
    MemoryRegion *windows[2];          /**< over the memory and its alias, while it is not mapped */
    uint32_t registers[REGISTERS_SIZE / 4];
    bool mapped;
    bool no_quad, dead;
} ssi;

static uint32_t field(uint32_t offset, unsigned shift, uint32_t mask)
{
    return ssi.registers[offset / 4] >> shift & mask;
}

static bool fits(const struct instruction *row)
{
    return row->code == ssi.registers[XIP_INCR_INST / 4] &&
           row->code == ssi.registers[XIP_WRAP_INST / 4] && row->format == field(XIP_CTRL, 0, 3) &&
           row->format == field(CTRLR0, 22, 3) && row->type == field(XIP_CTRL, 2, 3) &&
           row->wait == field(XIP_CTRL, 13, 31);
}

/** NULL, or why the chip does not answer as memory. */
static const char *why_not(void)
{
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (field(needed[i].offset, needed[i].shift, needed[i].mask) != needed[i].value) {
            return needed[i].name;
        }
    }
    const struct instruction *row = instructions;
    while (row < instructions + sizeof instructions / sizeof row[0] && !fits(row)) {
        row++;
    }
    if (row == instructions + sizeof instructions / sizeof row[0]) {
        return "an instruction of the chip with its format, transfer type and wait cycles";
    }
    if (ssi.registers[BAUDR / 4] < 2) {
        return "BAUDR";
    }
    if (ssi.no_quad && row->format == QUAD) {
        return "the chip's quad mode";
    }
    return ssi.dead ? "the chip" : NULL;
}

static bool is_on(void)
{
    return gates_are_open(&ssi.memory->xip);
}

/** Then nothing passes, and nothing says so: reads are 0, writes are lost. */
static bool is_protected(void)
{
    return !gates_are_open(&ssi.memory->protection);
}

static void update(void)
{
    const char *lacks = !is_on() ? NULL : is_protected() ? "the protection" : why_not();
    if (lacks) {
        message(MESSAGE_GUEST_ERROR, "%s is not readable, wrong or missing: %s", ssi.memory->name,
                lacks);
    }
    bool mapped = is_on() && !lacks;
    __atomic_store_n(&ssi.mapped, mapped, __ATOMIC_RELEASE);
    for (size_t i = 0; i < 2 && ssi.windows[i]; i++) {
        memory_region_set_enabled(ssi.windows[i], !mapped);
    }
}

/** Does this memory respond as memory? From any thread. */
static bool maps(const struct board_memory *memory)
{
    return memory != ssi.memory || __atomic_load_n(&ssi.mapped, __ATOMIC_ACQUIRE);
}

/** Registers; nonsense while reads go to a chip that does not understand them. */
static uint64_t window_read(void *opaque, uint64_t offset, unsigned size)
{
    (void)opaque;
    (void)size;
    if (is_protected()) {
        return 0;
    }
    return is_on() ? (uint32_t)(offset * 0x9E3779B1u) : ssi.registers[offset % REGISTERS_SIZE / 4];
}

static void window_write(void *opaque, uint64_t offset, uint64_t value, unsigned size)
{
    (void)opaque;
    (void)size;
    if (!is_on() && !is_protected()) {
        ssi.registers[offset % REGISTERS_SIZE / 4] = (uint32_t)value;
    }
}

static void reset(void *opaque)
{
    (void)opaque;
    memset(ssi.registers, 0, sizeof ssi.registers);
    update();
}

static MemoryRegion *add_window(uint32_t base)
{
    static const MemoryRegionOps ops = {
        .read = window_read,
        .write = window_write,
        .endianness = DEVICE_LITTLE_ENDIAN,
        .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
        .impl = {.min_access_size = 4, .max_access_size = 4},
    };
    MemoryRegion *region = region_new();
    memory_region_init_io(region, NULL, &ops, NULL, "flash-controller", ssi.memory->size);
    memory_region_add_subregion_overlap(get_system_memory(), base, region, MACHINE_OVER_DEVICES);
    return region;
}

void dw_ssi_create(void)
{
    for (size_t i = 0; i < board()->memory_count; i++) {
        const struct board_memory *memory = &board()->memories[i];
        if (memory->xip.all[0].mask) {
            ssi.memory = memory;
            ssi.windows[0] = add_window(memory->base);
            ssi.windows[1] = memory->alias ? add_window(memory->alias) : NULL;
            registers_watch(memory->xip.all[0].address);
            for (size_t j = 0; j < GATES_MAX; j++) {
                registers_watch(memory->protection.all[j].address);
            }
        }
    }
    if (ssi.memory) {
        registers_on_change(update);
        board_power_mapped_by(maps);
        qemu_register_reset(reset, NULL);
    }
}

bool dw_ssi_inject(const char *fault, unsigned count)
{
    bool *flag = strcmp(fault, "no-quad") == 0 ? &ssi.no_quad
                 : strcmp(fault, "dead") == 0  ? &ssi.dead
                                               : NULL;
    if (!flag || !ssi.memory) {
        return false;
    }
    *flag = count > 0;
    update();
    return true;
}
