// SPDX-License-Identifier: MIT
/**
 * Seeed Grove Vision AI V2, a Himax WE2: its memories and its NPU, at their
 * secure addresses. Sources of the numbers: README.md.
 */
#include "board.h"

#include "cpu.h"
#include "dma_controller.h"
#include "ethosu_board.h"
#include "startup.h"
#include "uart_16550.h"

/** System control: registers whose power is always on, and of the low-speed domain. */
#define NPU_RESET (*(volatile uint32_t *)0x56100214u) /**< SCU_U55_nSYSRESET */
#define NPU_RUNS 1u
#define UART0_PINS (*(volatile uint32_t *)0x52001118u) /**< SCU_UART0_PINMUX */
#define PINS_MASK 0x1F1Fu                              /**< function of PB0, function of PB1 */
#define PINS_ARE_UART 0x0101u

extern uint32_t _itcm_start[], _itcm_end[], _dtcm_start[], _dtcm_end[];
extern uint32_t _sram_start[], _code_area_start[], _code_area_end[], _sram_end[];
extern uint32_t _flash_start[], _flash_end[];

static const struct ethosu_memory memories[] = {
    {"SRAM", _code_area_end, _sram_end, .masters = ETHOSU_MASTERS_ALL, .cpu = ETHOSU_CPU_ALL},
    // Nothing in this firmware writes it. Himax's code does not let the CPU cache it either.
    {"flash", _flash_start, _flash_end, .masters = ETHOSU_MASTERS_READ, .cache = ETHOSU_CACHE_NONE,
     .cpu = ETHOSU_CPU_CODE},
    {"DTCM", _dtcm_start, _dtcm_end, .cache = ETHOSU_CACHE_NONE},
    {"ITCM", _itcm_start, _itcm_end, .cache = ETHOSU_CACHE_NONE, .cpu = ETHOSU_CPU_CODE},
    {"SRAM, low", _sram_start, _code_area_start, .masters = ETHOSU_MASTERS_ALL},
    {"SRAM, code", _code_area_start, _code_area_end, .masters = ETHOSU_MASTERS_READ,
     .cpu = ETHOSU_CPU_CODE},
    // No source says whether NPU and DMA controller reach it.
    {"SRAM2", _ramdisk_start, _ramdisk_end, .masters = 0},
    {"peripherals", (void *)0x50000000u, (void *)0x60000000u, .cache = ETHOSU_CACHE_NONE,
     .cpu = ETHOSU_CPU_REGISTERS},
};

static const struct ethosu_npu npus[] = {
    {.base = 0x53020000u, .irq = 192, .secure = true, .privileged = true},
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
 * DMA0, with its combined interrupt. A copy takes about 600 instructions, with the data cache on
 * 860, and 9 for every line that is cleaned and discarded; by the CPU 42 and 9 for every 16 bytes.
 */
const struct dma_board dma_board = {
    .base = 0x50000000u,
    .irq = 130,
    .least = 1024,
    .least_cached = 2912,
};

static void uart_prepare(void)
{
    UART0_PINS = (UART0_PINS & ~PINS_MASK) | PINS_ARE_UART;
}

/** UART0, behind the USB bridge of the board: RX is PB0, TX is PB1. */
const struct uart_16550 uart_16550 = {
    .base = 0x54003000u,
    .irq = 90,
    .clock_hz = 24000000u,
    .prepare = uart_prepare,
};

/** The flash: nothing here commands its controller to write, or to answer reads as memory. */
const struct nvm board_nvm = {
    .write = NULL,
    .why_not = "the ROM file system of this board is read-only, and not readable on the chip "
               "yet: copy models to /",
};

void board_init(void)
{
    // The boot loader has used neither NPU nor this reset; its clock runs.
    NPU_RESET = 0;
    NPU_RESET = NPU_RUNS;
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    return 0; // the chip's clocks have no battery
}

const uint8_t *board_unique_id(size_t *size)
{
    // Himax's SDK reads it in a library without source.
    static const uint8_t id[] = {'W', 'E', '2'};
    *size = sizeof(id);
    return id;
}
