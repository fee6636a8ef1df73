// SPDX-License-Identifier: MIT
/**
 * System, clock and power registers of the M55M1, limited to what a guest can get wrong: protected
 * registers ignore writes while locked, a clock that was not enabled is not stable, and the core
 * runs at the configured speed. What SRAM1 and SRAM2 need is in the board's table.
 *
 * Registers and bits: Nuvoton's BSP (Library/Device/Nuvoton/M55M1/Include: sys_reg.h, clk_reg.h,
 * pmc_reg.h), which is also the source of the firmware's; there is no other. Selector values:
 * Zephyr's numaker_m55m1x_clock.h.
 */
#include "chip/numaker_system.h"

#include <stddef.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "board/registers.h"
#include "chip/chip.h"
#include "cpu/core_clock.h"

#define SIZE 0x3000u

static uint32_t registers_base;

/** Offsets: SYS at 0x0000, CLK at 0x1000, PMC at 0x2000. */
enum system_register {
    SYS_RSTSTS = 0x0008,
    SYS_REGLCTL = 0x0100,
    CLK_SRCCTL = 0x1000,
    CLK_STATUS = 0x1004,
    CLK_APLL0CTL = 0x1018,
    CLK_APLL0SEL = 0x101C,
    CLK_SCLKSEL = 0x1400,
    CLK_UARTSEL0 = 0x1460,
    CLK_UARTDIV0 = 0x153C,
    PMC_PLCTL = 0x2010,
    PMC_PLSTS = 0x2014,
};

#define HZ_HIRC 12000000u
#define HZ_HXT 24000000u /**< the board's crystal */
#define HZ_HIRC48M 48000000u
#define HZ_LEVEL_1 200000000u /**< maximum at the core's lower supply voltage */

/** Bits of CLK_SRCCTL, and of CLK_STATUS. */
enum source { LXT = 1 << 1, HIRC = 1 << 3, HXT = 1 << 4, HIRC48M = 1 << 5, APLL0 = 1 << 6 };
enum status { SWITCHED = 1 << 8 };

enum { RESET_BY_POWER = 1 << 0, RESET_BY_CORE = 1 << 5 };

static const uint8_t key[] = {0x59, 0x16, 0x88};

/** Ranges of registers that ignore writes while locked, first to last. */
static const struct {
    uint16_t first;
    uint16_t last;
} protected_registers[] = {
    {0x0004, 0x0004}, {0x000C, 0x000C}, {0x0020, 0x0020}, {0x0028, 0x0040}, {0x0200, 0x02E0},
    {0x0500, 0x0500}, {0x1000, 0x1000}, {0x1008, 0x1024}, {0x1400, 0x147C}, {0x2000, 0x2004},
    {0x2010, 0x2010}, {0x2028, 0x2028}, {0x2050, 0x2050}, {0x2060, 0x2060}, {0x2100, 0x2140},
};

static struct {
    size_t keys; /**< keys of the unlock sequence written so far */
    bool was_reset;
} lock;

static uint32_t get(uint32_t offset)
{
    return registers_load(registers_base + offset);
}

static void set(uint32_t offset, uint32_t value)
{
    registers_store(registers_base + offset, value);
}

bool numaker_system_unlocked(void)
{
    return lock.keys == sizeof key;
}

/* --- Clocks ----------------------------------------------------------------- */

/** Frequency of a source, in hertz; 0 if not enabled. */
static uint32_t running(enum source source, uint32_t hertz)
{
    return get(CLK_SRCCTL) & source ? hertz : 0;
}

static uint32_t pll_hertz(void)
{
    static const uint8_t output_dividers[] = {1, 2, 2, 4};
    const uint32_t control = get(CLK_APLL0CTL);
    uint32_t input = 0;
    switch (get(CLK_APLL0SEL) & 3) {
    case 0:
        input = running(HXT, HZ_HXT);
        break;
    case 1:
        input = running(HXT, HZ_HXT / 2);
        break;
    case 2:
        input = running(HIRC, HZ_HIRC);
        break;
    default:
        input = running(HIRC48M, HZ_HIRC48M / 4);
    }
    input /= (control >> 9 & 0x1F) + 1;
    return running(APLL0, 2 * input * ((control & 0x1FF) + 2) / output_dividers[control >> 14 & 3]);
}

static uint32_t core_hertz(void)
{
    switch (get(CLK_SCLKSEL) & 7) {
    case 0:
        return running(HIRC, HZ_HIRC);
    case 2:
        return running(HIRC48M, HZ_HIRC48M);
    case 3:
        return running(HXT, HZ_HXT);
    case 4:
        return pll_hertz();
    default:
        return 0;
    }
}

uint32_t numaker_system_uart_clock(void)
{
    const uint32_t divider = (get(CLK_UARTDIV0) & 0xF) + 1;
    switch (get(CLK_UARTSEL0) & 7) {
    case 0:
        return running(HXT, HZ_HXT) / divider;
    case 1:
        return running(HIRC, HZ_HIRC) / divider;
    case 3:
        return pll_hertz() / 2 / divider;
    case 4:
        return running(HIRC48M, HZ_HIRC48M) / divider;
    default:
        return 0;
    }
}

static uint32_t clock_status(void)
{
    uint32_t stable = get(CLK_SRCCTL) & ~(uint32_t)APLL0;
    if (pll_hertz()) {
        stable |= APLL0;
    }
    return stable | (core_hertz() ? SWITCHED : 0);
}

static void update_core(void)
{
    const uint32_t hertz = core_hertz();
    if (hertz > HZ_LEVEL_1 && get(PMC_PLCTL) & 3) {
        message(MESSAGE_GUEST_ERROR, "system: the core runs at %u Hz, its supply is for %u", hertz,
                HZ_LEVEL_1);
    }
    if (hertz) {
        core_clock_set(hertz);
    } else {
        message(MESSAGE_GUEST_ERROR, "system: the core's clock source is off");
    }
}

/* --- Registers ---------------------------------------------------------------- */

static bool is_protected(uint32_t offset)
{
    for (size_t i = 0; i < sizeof protected_registers / sizeof protected_registers[0]; i++) {
        if (offset >= protected_registers[i].first && offset <= protected_registers[i].last) {
            return true;
        }
    }
    return false;
}

static uint32_t read_register(void *context, uint32_t offset)
{
    (void)context;
    switch (offset) {
    case SYS_REGLCTL:
        return numaker_system_unlocked();
    case CLK_STATUS:
        return clock_status();
    case PMC_PLSTS:
        return get(PMC_PLCTL) & 3;
    default:
        return get(offset);
    }
}

static void write_key(uint32_t value)
{
    if (lock.keys < sizeof key && value == key[lock.keys]) {
        lock.keys++;
    } else {
        lock.keys = value == key[0] && !numaker_system_unlocked();
    }
}

static void write_register(void *context, uint32_t offset, uint32_t value)
{
    (void)context;
    if (offset == SYS_REGLCTL) {
        write_key(value);
        return;
    }
    if (is_protected(offset) && !numaker_system_unlocked()) {
        message(MESSAGE_GUEST_ERROR, "system: register 0x%08x is locked", registers_base + offset);
        return;
    }
    bool set_before = offset == CLK_APLL0CTL || offset == CLK_APLL0SEL;
    if (offset == SYS_RSTSTS) {
        value = get(SYS_RSTSTS) & ~value;
    } else if (set_before && get(CLK_SRCCTL) & APLL0) {
        return;
    }
    set(offset, value);
    if (is_protected(offset)) {
        update_core();
    }
}

/* --- Start and reset ---------------------------------------------------------- */

static void reset(void *opaque)
{
    (void)opaque;
    lock.keys = 0;
    set(SYS_RSTSTS, lock.was_reset ? RESET_BY_CORE : RESET_BY_POWER);
    lock.was_reset = true;
    set(CLK_SRCCTL, HIRC);
    update_core();
}

void numaker_system_create(uint32_t base)
{
    registers_base = base;
    machine_map(&(struct machine_window){.name = "system",
                                         .base = base,
                                         .size = SIZE,
                                         .read = read_register,
                                         .write = write_register},
                NULL);
    qemu_register_reset(reset, NULL);
    reset(NULL);
    lock.was_reset = false; // QEMU resets the machine once before it starts
}
