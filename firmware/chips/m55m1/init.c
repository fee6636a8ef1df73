// SPDX-License-Identifier: MIT
/** Start-up of a Nuvoton M55M1. Sources of the numbers: the pages of its boards. */
#include "board.h"

#include "cpu.h"
#include "flash.h"
#include "registers.h"

/** In CLK_SRCCTL, and when they are stable in CLK_STATUS. */
enum clock { HIRC = 1 << 3, APLL0 = 1 << 6 };
enum { SCLK_SWITCHED = 1 << 8 };

/** Choices of CLK_SCLKSEL and CLK_APLL0SEL. */
enum { SCLK_HIRC = 0, SCLK_APLL0 = 4, APLL0_HIRC = 2 };

/** 12 MHz / 3 * 2 * 55 / 2 = 220 MHz; stable after 2,460 cycles of the source. */
#define APLL0_220MHZ ((55u - 2u) | (3u - 1u) << 9 | 1u << 14 | 1u << 28)

/** The highest level of supply, for more than 200 MHz, and the cycles of a read from flash. */
enum { POWER_LEVEL_0 = 0 };
#define POWER_BUSY (1u << 31)
#define WRITE_BUSY (1u << 31)
#define FMC_CYCCTL REGISTER(0x4004404Cu)
#define FLASH_CYCLES 10u

/** HCLK2 and PCLK0 to PCLK4 are half of SCLK. */
#define HALF_HCLK2 (1u << 8)
#define HALF_PCLKS 0x11111u

#define NPU_RESET (1u << 6)
#define SRAM_1_AND_2 (3u << 1)

/** Of ELPSTATE. */
#define ON_WITHOUT_CLOCK 1u

/** Looks at a register that soon has another value: some 100 ms. */
#define TRIES 200000u

const struct nvm board_nvm = {
    .erase_unit = FLASH_PAGE,
    .erase = flash_erase,
    .write = flash_write,
};

/* --- Start ------------------------------------------------------------------ */

static bool wait_for_bits(const volatile uint32_t *bits, uint32_t mask, uint32_t value)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        if ((*bits & mask) == value) {
            return true;
        }
    }
    return false;
}

static bool use_clock(uint32_t source)
{
    CLK_SCLKSEL = source;
    return wait_for_bits(&CLK_STATUS, SCLK_SWITCHED, SCLK_SWITCHED);
}

static bool start_pll(void)
{
    CLK_SRCCTL &= ~(uint32_t)APLL0; // can only be changed while it is off
    CLK_APLL0SEL = APLL0_HIRC;
    CLK_APLL0CTL = APLL0_220MHZ;
    CLK_SRCCTL |= APLL0;
    return wait_for_bits(&CLK_STATUS, APLL0, APLL0);
}

/** A step that fails leaves the core at 12 MHz: all works, time runs 18 times too slow. */
static void start_clocks(void)
{
    CLK_SRCCTL |= HIRC;
    if (!wait_for_bits(&CLK_STATUS, HIRC, HIRC) || !use_clock(SCLK_HIRC) || !start_pll()) {
        return;
    }
    PMC_PLCTL = POWER_LEVEL_0;
    if (!wait_for_bits(&PMC_PLSTS, POWER_BUSY, 0)) {
        return;
    }
    CLK_HCLKDIV = HALF_HCLK2;
    CLK_PCLKDIV = HALF_PCLKS;
    FMC_CYCCTL = FLASH_CYCLES;
    (void)use_clock(SCLK_APLL0);
}

/** After a reset only SRAM0 is on. Nuvoton's start-up has the first two lines as a workaround. */
static void start_srams(void)
{
    (void)wait_for_bits(&SYS_VREFCTL, WRITE_BUSY, 0);
    SYS_VREFCTL = 0;
    PMC_SYSRB1PC = 0;
    PMC_SYSRB2PC = 0;
    (void)wait_for_bits(&PMC_SYSRB1PC, POWER_BUSY, 0);
    (void)wait_for_bits(&PMC_SYSRB2PC, POWER_BUSY, 0);
    CLK_SRAMCTL |= SRAM_1_AND_2;
}

static void start_masters(void)
{
    CLK_NPUCTL = 1;
    registers_pulse(&SYS_RSTCTL, NPU_RESET);
    CLK_GDMACTL = 1;
    registers_pulse(&SYS_GDMARST, 1);
}

/**
 * FP and MVE stay on while they are idle: after a cold reset they may be switched off, and then
 * take time to switch on (Arm's system_ARMCM55.c, which Nuvoton's start-up follows).
 */
static void keep_extension_unit_on(void)
{
    PWRMODCTL->CPDLPSTATE = (PWRMODCTL->CPDLPSTATE & ~PWRMODCTL_CPDLPSTATE_ELPSTATE_Msk) |
                            ON_WITHOUT_CLOCK << PWRMODCTL_CPDLPSTATE_ELPSTATE_Pos;
}

/** The watchdog is off after a reset unless the user's configuration words enable it. */
void board_init(void)
{
    keep_extension_unit_on();
    registers_unlock();
    start_srams();
    flash_start();
    start_clocks();
    start_masters();
    registers_lock();
    SCB_EnableICache();
    SCB_EnableDCache();
}

/* --- Identity ----------------------------------------------------------------- */

/** The board has no battery for the chip's RTC. */
uint32_t board_wall_clock(void)
{
    return 0;
}

const uint8_t *board_unique_id(size_t *size)
{
    static uint32_t id[FLASH_UID_WORDS];
    flash_read_uid(id);
    *size = sizeof(id);
    return (const uint8_t *)id;
}
