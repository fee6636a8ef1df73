// SPDX-License-Identifier: MIT
/**
 * The board's memories and NPUs, and what it does at start-up. Copy the folder
 * and replace each value by the one of your chip's manual; the chip here is
 * invented. What the fields mean in full is in modules/ethosu/driver/include/ethosu_board.h.
 */
#include "board.h"

#include "cpu.h"
#include "dma_controller.h"
#include "ethosu_board.h"

/** The bit that clocks the NPU: this chip switches it off after a reset. */
#define NPU_CLOCK ((volatile uint32_t *)0x40001000u)

extern uint32_t _flash_start[], _flash_end[], _dtcm_start[], _dtcm_end[];
extern uint32_t _sram_start[], _sram_end[];

/** Every address that is used is in one row. What no row names faults. */
static const struct ethosu_memory memories[] = {
    {
        .name = "flash",
        .start = _flash_start, // as the CPU addresses it, multiples of 32
        .end = _flash_end,
        .masters = ETHOSU_MASTERS_READ,      // NPU and DMA controller read, neither writes
        .port = ETHOSU_PORT_DEFAULT,         // the driver's choice of the NPU's port
        .cache = ETHOSU_CACHE_WRITE_THROUGH, // no matter for memory that the CPU never writes
        .cpu = ETHOSU_CPU_CODE,              // read and execute
    },
    {
        .name = "DTCM",
        .start = _dtcm_start,
        .end = _dtcm_end,
        .npu_address = 0x58000000u, // the NPU sees `start` here; without this field, at `start`
        .masters = ETHOSU_NPU_READS | ETHOSU_NPU_WRITES, // not the DMA controller
        .cache = ETHOSU_CACHE_NONE,                      // a TCM is never cached
        .cpu = ETHOSU_CPU_DATA,                          // read and write
    },
    {
        .name = "SRAM",
        .start = _sram_start,
        .end = _sram_end,
        .masters = ETHOSU_MASTERS_ALL,
        .cache = ETHOSU_CACHE_WRITE_BACK,
        .cpu = ETHOSU_CPU_ALL, // the heap: Python compiles native code into it
    },
    {
        .name = "peripherals",
        .start = (void *)0x40000000u,
        .end = (void *)0x50000000u,
        .cache = ETHOSU_CACHE_NONE,
        .cpu = ETHOSU_CPU_REGISTERS,
    },
};

/** Only for a chip that switches clock or power of the NPU; else leave `power` out. */
static bool npu_power(const struct ethosu_npu *npu, bool on)
{
    (void)npu;
    *NPU_CLOCK = on;
    return true;
}

static const struct ethosu_npu npus[] = {
    {
        .base = 0x40002000u, // of the registers: 4 KB of Ethos-U55 and U65, 8 KB of U85
        .irq = 55,           // input of the interrupt controller
        .secure = true,      // the state of the accesses that the NPU makes; memories may refuse
        .privileged = true,
        .fast_memory = NULL, // memory for Vela's Dedicated_Sram mode, and its size
        .fast_memory_size = 0,
        .settings = NULL, // AXI limits and memory attributes; NULL: the driver's
        .power = npu_power,
    },
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .memories = memories,
    .memory_count = sizeof(memories) / sizeof(memories[0]),
    .cache_line = 32,
    .npus = npus,
    .npu_count = sizeof(npus) / sizeof(npus[0]),
};

/** The DMA controller; firmware/drivers/dma_controller.h explains the fields. */
const struct dma_board dma_board = {
    .base = 0x40004000u,
    .irq = 30,
    .abort_irq = 30,      // this controller has one interrupt
    .least = 1024,        // bytes: measure it
    .least_cached = 3072, // the same with the data cache on
};

/**
 * This chip's ROM file system is in RAM. One in flash has an erase_unit and functions erase() and
 * write() here; one that cannot be written has none of them: firmware/nvm.h.
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
