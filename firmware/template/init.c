// SPDX-License-Identifier: MIT
/**
 * Board code for start-up and other functions. Addresses of memories and devices
 * are in board.toml. The chip is fictional.
 */
#include "board.h"

#include "cpu.h"
#include "ethosu_board.h"

/** NPU clock enable bit, which is off after a reset of this chip. */
#define NPU_CLOCK ((volatile uint32_t *)0x40001000u)

/** Only for a chip that switches clock or power of the NPU: `power` in board.toml. */
bool board_npu_power(const struct ethosu_npu *npu, bool on)
{
    (void)npu;
    *NPU_CLOCK = on;
    return true;
}

/**
 * This chip's ROM file system is in RAM. In flash, it needs an erase_unit and functions erase() and
 * write() here; for read-only memory, omit all three. See firmware/include/nvm.h.
 */
const struct nvm board_nvm = {.write = nvm_write_plain};

void board_init(void)
{
    // Clocks and pins first, then the caches.
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    return 0; // no clock that runs on over a reset
}

const uint8_t *board_unique_id(size_t *size)
{
    static const uint8_t id[] = {0}; // most chips have one in a register or in a fuse
    *size = sizeof(id);
    return id;
}
