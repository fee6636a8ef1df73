// SPDX-License-Identifier: MIT
/** Faults of the board as a whole. */
#include "start/board_faults.h"

#include <stddef.h>
#include <string.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "cpu/cache.h"
#include "memory/guest_memory.h"
#include "pc/emulator_device.h"

static bool power_lost;

/** What the CPU has written and not cleaned is lost, as at a reset that it requests. */
static void press_reset(void)
{
    cache_maintain_all(COHERENCE_INVALIDATE);
    qemu_system_reset_request(SHUTDOWN_CAUSE_HOST_QMP_SYSTEM_RESET);
}

static void lose_power(void)
{
    power_lost = true;
    press_reset();
}

void board_lose_power(void)
{
    board_inject("power-loss", 1);
}

bool board_inject(const char *fault, unsigned count)
{
    static const struct {
        const char *name;
        void (*inject)(void);
    } faults[] = {
        {"reset", press_reset},
        {"power-loss", lose_power},
        {"call", emulator_device_call},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strcmp(faults[i].name, fault) == 0) {
            if (count > 0) {
                message(MESSAGE_GUEST_ERROR, "board: injected fault %s", fault);
                faults[i].inject();
            }
            return true;
        }
    }
    return false;
}

void board_reset(void)
{
    if (power_lost) {
        guest_memory_randomize();
    }
    power_lost = false;
}
