// SPDX-License-Identifier: MIT
/**
 * MPS3 with image AN547: Cortex-M55 and Ethos-U55 on Corstone-300
 * (Arm DAI 0547). Also the memory map of QEMU's mps3-an547 and of the FVP.
 */
#include "board.h"

#include "cpu.h"
#include "dma_controller.h"
#include "ethosu_board.h"
#include "fault.h"
#include "startup.h"

#define RTC_DATA 0x4930B000u /**< PL031: seconds since 1970 */

extern uint32_t _ssram_end[], _dtcm_start[], _dtcm_end[], _isram_start[], _isram_end[];
extern uint32_t _qspi_start[], _qspi_end[], _ddr_start[], _ddr_end[];

static const struct ethosu_memory memories[] = {
    {"DDR", _ddr_start, _ddr_end, .masters = ETHOSU_MASTERS_ALL, .cpu = ETHOSU_CPU_ALL},
    {"SSRAM, code", _code_start, _code_end, .masters = ETHOSU_MASTERS_READ, .cpu = ETHOSU_CPU_CODE},
    {"SSRAM", _code_end, _ssram_end, .masters = ETHOSU_MASTERS_ALL},
    {"DTCM", _dtcm_start, _dtcm_end, .cache = ETHOSU_CACHE_NONE},
    {"ISRAM", _isram_start, _isram_end, .masters = ETHOSU_MASTERS_ALL},
    {"QSPI", _qspi_start, _qspi_end, .masters = ETHOSU_MASTERS_READ, .cpu = ETHOSU_CPU_CODE},
    {"peripherals", (void *)0x40000000u, (void *)0x60000000u, .cache = ETHOSU_CACHE_NONE,
     .cpu = ETHOSU_CPU_REGISTERS},
};

static const struct ethosu_npu npus[] = {
    {.base = 0x48102000u, .irq = 56, .secure = true, .privileged = true},
    // Only on the emulator, if asked for.
    {.base = 0x48104000u, .irq = 59, .secure = true, .privileged = true},
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .memories = memories,
    .memory_count = sizeof(memories) / sizeof(memories[0]),
    .cache_line = 32,
    .npus = npus,
    .npu_count = sizeof(npus) / sizeof(npus[0]),
};

/**
 * DMA0. A copy takes about 500 instructions, against 42 and 9 for every 16 bytes by the CPU;
 * with the data cache on 770, and 9 for every line that is cleaned and discarded.
 */
const struct dma_board dma_board = {
    .base = 0x41200000u,
    .irq = 58,
    .least = 832,
    .least_cached = 2560,
};

/** A part of the DDR is what flash is on other boards. */
const struct nvm board_nvm = {.write = nvm_write_plain};

void board_init(void)
{
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    uint32_t seconds = 0;
    fault_guarded_read((const volatile uint32_t *)RTC_DATA, &seconds);
    return seconds;
}

const uint8_t *board_unique_id(size_t *size)
{
    // The FPGA image has no serial number.
    static const uint8_t id[] = {'A', 'N', '5', '4', '7'};
    *size = sizeof(id);
    return id;
}
