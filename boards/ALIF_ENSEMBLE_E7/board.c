// SPDX-License-Identifier: MIT
/**
 * Alif Ensemble E7, high-performance core: its memories and its NPU.
 * Sources of the numbers: README.md.
 */
#include "board.h"

#include "cpu.h"
#include "ethosu_board.h"

/** Clocks of the core's own devices; bit 0: the NPU. */
#define CLOCK_ENABLE ((volatile uint32_t *)0x400F0010u)
#define CLOCK_NPU (1u << 0)

extern uint32_t _mram_start[], _mram_end[], _dtcm_start[], _dtcm_end[];
extern uint32_t _sram0_start[], _sram0_end[], _sram1_start[], _sram1_end[];

static const struct ethosu_memory memories[] = {
    {"MRAM", _mram_start, _mram_end, .masters = ETHOSU_MASTERS_READ,
     .cache = ETHOSU_CACHE_WRITE_THROUGH, .cpu = ETHOSU_CPU_CODE},
    {"DTCM", _dtcm_start, _dtcm_end, .npu_address = 0x50800000u, .masters = ETHOSU_MASTERS_ALL,
     .cache = ETHOSU_CACHE_NONE},
    {"SRAM0", _sram0_start, _sram0_end, .masters = ETHOSU_MASTERS_ALL, .cpu = ETHOSU_CPU_ALL},
    {"SRAM1", _sram1_start, _sram1_end, .masters = ETHOSU_MASTERS_ALL},
    {"peripherals", (void *)0x40000000u, (void *)0x50000000u, .cache = ETHOSU_CACHE_NONE,
     .cpu = ETHOSU_CPU_REGISTERS},
    {"pins", (void *)0x1A000000u, (void *)0x1B000000u, .cache = ETHOSU_CACHE_NONE,
     .cpu = ETHOSU_CPU_REGISTERS},
};

static const struct ethosu_npu npus[] = {
    {.base = 0x400E1000u, .irq = 55, .secure = true, .privileged = true},
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .memories = memories,
    .memory_count = sizeof(memories) / sizeof(memories[0]),
    .cache_line = 32,
    .npus = npus,
    .npu_count = sizeof(npus) / sizeof(npus[0]),
};

void board_init(void)
{
    *CLOCK_ENABLE |= CLOCK_NPU;
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    return 0;
}

const uint8_t *board_unique_id(size_t *size)
{
    // The chip's own number is read through the Secure Enclave, which this firmware does not ask.
    static const uint8_t id[] = {'E', '7'};
    *size = sizeof(id);
    return id;
}
