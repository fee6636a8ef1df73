// SPDX-License-Identifier: MIT
/**
 * The flash chip (Winbond W25Q128JW) behind a serial controller (Synopsys DWC_ssi).
 *
 * Until the controller maps the flash, its registers are at the flash's addresses. Values and order
 * are those with which Himax's program for a debug probe reads the flash (swdflash.py,
 * flash_dump()): an 8-bit instruction and a 24-bit address on one line, 8 wait cycles, data on
 * several lines. Nothing in the chip is changed for that, so its boot ROM can read it after a
 * reset.
 *
 * That program's init() writes more before. The protection is opened by board_init(); the unit for
 * writes, at 0x51010000, is not needed for reads.
 */
#include "flash.h"

#include <stddef.h>

#include "board.h"
#include "cpu.h"
#include "fault.h"
#include "mpu.h"

#define FLASH 0x3A000000u
#define SSI(offset) (*(volatile uint32_t *)(FLASH + (offset)))

/** Registers of the controller: names of WE2_S.svd. */
enum {
    CTRLR0 = 0x000,
    CTRLR1 = 0x004,
    SSIENR = 0x008,
    SER = 0x010,
    BAUDR = 0x014,
    SPI_CTRLR0 = 0x0F4,
    XIP_INCR_INST = 0x100,
    XIP_WRAP_INST = 0x104,
    XIP_CTRL = 0x108,
    XIP_SER = 0x10C,
};

/** Of system control: SCU_ISP_XIP_SPICACHE. */
#define MAPPING (*(volatile uint32_t *)0x53070B00u)
enum { MAPPING_OFF = 0, MAPPING_ON = 2 };

/** Himax's images, one of which is at the start of the flash, begin with "ckBS". */
#define IMAGE_START 0x53426B63u

/**
 * The first needs the chip's quad mode, which is on in a part of these chips; the second works with
 * all of them, at half the speed.
 */
static const struct read {
    uint32_t instruction;
    uint32_t lines; /**< a field of the controller: 1 for two data lines, 2 for four */
} reads[] = {{0x6B, 2}, {0x3B, 1}};

static bool is_mapped; // owned by flash_map()

static void set_up(const struct read *read)
{
    SSI(SSIENR) = 0;
    SSI(CTRLR0) = 0x80000807u | read->lines << 22;
    SSI(CTRLR1) = 9;
    SSI(SER) = 1;
    SSI(BAUDR) = 4;
    SSI(SPI_CTRLR0) = 0x00104218u;
    SSI(XIP_INCR_INST) = read->instruction;
    SSI(XIP_WRAP_INST) = read->instruction;
    SSI(XIP_CTRL) = 0x08410460u | read->lines;
    SSI(XIP_SER) = 1;
    SSI(SSIENR) = 1;
    __DSB();
}

static bool answers(void)
{
    uint32_t first;
    return fault_guarded_read((const void *)FLASH, &first) && first == IMAGE_START;
}

bool flash_map(void)
{
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]) && !is_mapped; i++) {
        MAPPING = MAPPING_OFF;
        __DSB();
        mpu_set_registers((const void *)FLASH, true);
        set_up(&reads[i]);
        mpu_set_registers((const void *)FLASH, false);
        MAPPING = MAPPING_ON;
        __DSB();
        is_mapped = answers();
    }
    if (!is_mapped) {
        MAPPING = MAPPING_OFF;
    }
    return is_mapped;
}

bool flash_is_mapped(void)
{
    return is_mapped;
}
