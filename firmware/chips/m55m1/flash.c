// SPDX-License-Identifier: MIT
/**
 * The chip's flash, accessed through its controller (FMC).
 *
 * The CPU continues to run while the other bank is busy. A fetch from the busy
 * bank stalls, and so do interrupts.
 */
#include "flash.h"

#include <string.h>

#include "cpu.h"
#include "irq.h"
#include "registers.h"

struct controller {
    volatile uint32_t control;
    volatile uint32_t address;
    volatile uint32_t data;
    volatile uint32_t command;
    volatile uint32_t trigger;
    uint32_t reserved_14[11];
    volatile uint32_t status;
    uint32_t reserved_44[15];
    volatile uint32_t words[4];
};

_Static_assert(offsetof(struct controller, status) == 0x40, "FMC_ISPSTS");
_Static_assert(offsetof(struct controller, words) == 0x80, "FMC_MPDAT0");

static struct controller *const fmc = (struct controller *)0x40044000u;

enum control { ENABLED = 1 << 0, UPDATE_APROM = 1 << 3 };
enum status { BUSY = 1 << 0, FAILED = 1 << 6 };
enum command { READ_UID = 0x04, ERASE_PAGE = 0x22, PROGRAM_64 = 0x61 };

/** In CLK_FMCCTL: of the flash while the CPU sleeps, when NPU and DMA read it; of the controller.
 */
enum clock { CLOCK_IDLE = 1 << 0, CLOCK_ISP = 1 << 16 };

/** Status polls: 20 times as long as erasing a page, which takes about 10 ms. */
#define TRIES 4000000u

void flash_start(void)
{
    CLK_FMCCTL |= CLOCK_IDLE | CLOCK_ISP;
}

/** An interrupt handler that used the controller would come between. */
static bool execute(enum command command, uint32_t address)
{
    fmc->command = command;
    fmc->address = address;
    fmc->trigger = 1;
    for (uint32_t i = 0; fmc->status & BUSY; i++) {
        if (i == TRIES) {
            return false;
        }
    }
    const bool failed = fmc->status & FAILED;
    if (failed) {
        fmc->status = FAILED;
    }
    return !failed;
}

/** Enable the controller; `update` is 0, or enables changes to the flash. */
static void open(uint32_t update)
{
    uint32_t state = irq_mask();
    registers_unlock();
    irq_restore(state);
    fmc->control |= ENABLED | update;
}

static void close(void)
{
    fmc->control &= ~(uint32_t)(ENABLED | UPDATE_APROM);
    registers_lock();
}

bool flash_erase(uint8_t *at)
{
    open(UPDATE_APROM);
    bool done = execute(ERASE_PAGE, (uint32_t)(uintptr_t)at);
    close();
    return done;
}

bool flash_write(uint8_t *at, const uint8_t *bytes, size_t size)
{
    bool done = true;
    open(UPDATE_APROM);
    for (size_t i = 0; done && i < size; i += 2 * sizeof(uint32_t)) {
        uint32_t words[2];
        memcpy(words, bytes + i, sizeof(words));
        fmc->words[0] = words[0];
        fmc->words[1] = words[1];
        done = execute(PROGRAM_64, (uint32_t)(uintptr_t)(at + i));
    }
    close();
    return done;
}

void flash_read_uid(uint32_t id[FLASH_UID_WORDS])
{
    open(0);
    for (uint32_t i = 0; i < FLASH_UID_WORDS; i++) {
        id[i] = execute(READ_UID, i * sizeof(uint32_t)) ? fmc->data : 0;
    }
    close();
}
