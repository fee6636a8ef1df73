// SPDX-License-Identifier: MIT
/**
 * The flash controller of the M55M1: reads the chip's IDs, programs words and double words, erases
 * pages. As in real flash, programming only clears bits, and erasing sets all bits of a page. Not
 * modelled: multi-word programming, configuration words, remapping of the other banks, checksums,
 * protected regions.
 *
 * The controller is not part of the CPU, so its changes bypass the data cache.
 *
 * Registers and bits: Nuvoton's BSP (fmc_reg.h, fmc.h) only; page size and flash address: Zephyr's
 * m55m1x.dtsi (erase-block-size) and m55m1h2l.dtsi. The timing is a guess, and shorter than on the
 * chip.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/gate.h"
#include "board/machine.h"
#include "chip/chip.h"
#include "chip/numaker_system.h"
#include "cpu/cache.h"
#include "memory/power_cut.h"

#define WINDOW_SIZE 0x1000u
#define FLASH_START 0x00100000u
#define FLASH_END 0x00300000u
#define PAGE_BYTES 8192u
#define ERASE_NS 1000000
#define PROGRAM_NS 5000
#define UID_WORDS 3u

enum flash_register {
    CONTROL = 0x00,
    ADDRESS = 0x04,
    DATA = 0x08,
    COMMAND = 0x0C,
    TRIGGER = 0x10,
    STATUS = 0x40,
    DATA_0 = 0x80,
    DATA_1 = 0x84,
    REGISTERS_END = 0x120,
};

enum control { ENABLED = 1 << 0, UPDATE_APROM = 1 << 3, FAILED = 1 << 6 };
enum command {
    READ = 0x00,
    READ_UID = 0x04,
    READ_COMPANY = 0x0B,
    PROGRAM = 0x21,
    ERASE_PAGE = 0x22,
    PROGRAM_64 = 0x61,
};
#define COMPANY 0xDAu

static struct {
    uint32_t registers[REGISTERS_END / 4];
    int64_t busy_until; /**< virtual time in ns */
} flash;

static bool busy(void)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) < flash.busy_until;
}

static uint32_t *at(enum flash_register offset)
{
    return &flash.registers[offset / 4];
}

/* --- Commands ----------------------------------------------------------------- */

/** Bytes of the flash in memory; NULL if outside the flash or not aligned. */
static uint8_t *find(uint32_t size)
{
    const uint32_t address = *at(ADDRESS);
    if (address < FLASH_START || address >= FLASH_END || address % size != 0) {
        return NULL;
    }
    return cache_map(MASTER_NPU, address, size, false);
}

static bool may_change(void)
{
    return *at(CONTROL) & UPDATE_APROM;
}

static bool read_word(void)
{
    const uint8_t *bytes = find(4);
    if (bytes) {
        memcpy(at(DATA), bytes, 4);
    }
    return bytes;
}

static bool read_uid(void)
{
    static const uint32_t uid[UID_WORDS] = {0x4D35354D, 0x31454D55, 0x00000001};
    const uint32_t index = *at(ADDRESS) / 4;
    if (index < UID_WORDS) {
        *at(DATA) = uid[index];
    }
    return index < UID_WORDS;
}

static bool read_company(void)
{
    *at(DATA) = COMPANY;
    return true;
}

static bool program(const uint32_t *words, uint32_t size)
{
    uint8_t *bytes = may_change() ? find(size) : NULL;
    uint8_t after[8];
    for (uint32_t i = 0; bytes && i < size; i++) {
        after[i] = bytes[i] & (uint8_t)(words[i / 4] >> i % 4 * 8);
    }
    return bytes && power_cut_write(bytes, after, size);
}

static bool program_word(void)
{
    return program(at(DATA), 4);
}

static bool program_double_word(void)
{
    return program(at(DATA_0), 8);
}

static bool erase_page(void)
{
    uint8_t *bytes = may_change() ? find(PAGE_BYTES) : NULL;
    uint8_t erased[PAGE_BYTES];
    memset(erased, 0xFF, sizeof erased);
    return bytes && power_cut_write(bytes, erased, sizeof erased);
}

static const struct {
    enum command command;
    bool (*execute)(void);
    int64_t ns;
} commands[] = {
    {READ, read_word, 0},
    {READ_UID, read_uid, 0},
    {READ_COMPANY, read_company, 0},
    {PROGRAM, program_word, PROGRAM_NS},
    {ERASE_PAGE, erase_page, ERASE_NS},
    {PROGRAM_64, program_double_word, PROGRAM_NS},
};

static void execute(void)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (commands[i].command == (*at(COMMAND) & 0x7F) && *at(CONTROL) & ENABLED &&
            commands[i].execute()) {
            flash.busy_until = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + commands[i].ns;
            return;
        }
    }
    *at(CONTROL) |= FAILED;
    message(MESSAGE_GUEST_ERROR, "flash: command 0x%02x at 0x%08x fails", *at(COMMAND),
            *at(ADDRESS));
}

/* --- Registers ------------------------------------------------------------------ */

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case TRIGGER:
        return busy();
    case STATUS:
        return (*at(CONTROL) & FAILED) | busy();
    default:
        return offset < REGISTERS_END ? flash.registers[offset / 4] : 0;
    }
}

static void write_control(uint32_t value)
{
    const uint32_t failed = *at(CONTROL) & FAILED & ~value;
    *at(CONTROL) = (value & ~(uint32_t)FAILED) | failed;
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if ((offset == CONTROL || offset == TRIGGER) && !numaker_system_unlocked()) {
        message(MESSAGE_GUEST_ERROR, "flash: register 0x%02x is locked", offset);
        return;
    }
    switch (offset) {
    case CONTROL:
        write_control(value);
        return;
    case STATUS:
        *at(CONTROL) &= ~(value & FAILED);
        return;
    case TRIGGER:
        if (value & 1 && !busy()) {
            execute();
        }
        return;
    default:
        if (offset < REGISTERS_END && !busy()) {
            flash.registers[offset / 4] = value;
        }
    }
}

/* --- Start and reset ------------------------------------------------------------ */

static void reset(void *opaque)
{
    (void)opaque;
    memset(&flash, 0, sizeof flash);
}

void numaker_flash_create(uint32_t base)
{
    static const struct gates clock = {
        {{.address = 0x4000123C, .mask = 1 << 16, .value = 1 << 16}}};
    machine_map(&(struct machine_window){.name = "flash-controller",
                                         .base = base,
                                         .size = WINDOW_SIZE,
                                         .read = read_register,
                                         .write = write_register,
                                         .gate = &clock},
                NULL);
    qemu_register_reset(reset, NULL);
}
