// SPDX-License-Identifier: MIT
/**
 * Either Cortex-M55 of Alif Ensemble E3, E5, E7: its memories, its NPU, its DMA
 * controller. Sources of the numbers: README.md.
 */
#include "board.h"

#include "cpu.h"
#include "dma_controller.h"
#include "ethosu_board.h"
#include "mram.h"
#include "uart_16550.h"

/** Configuration of the core's own devices. */
static struct {
    volatile uint32_t dma_control;
    volatile uint32_t dma_events;      /**< a bit for each: not secure */
    volatile uint32_t dma_peripherals; /**< the same */
    uint32_t unused;
    volatile uint32_t clock_enable;
} *const configuration = (void *)ALIF_CORE_CONFIGURATION;

enum {
    CLOCK_NPU = 1u << 0,
    CLOCK_DMA = 1u << 4,
    DMA_NOT_SECURE = 1u << 0, /**< its manager, from the next reset on */
    DMA_RESET = 1u << 16,
};

extern uint32_t _mram_start[], _mram_end[], _dtcm_start[], _dtcm_end[];
extern uint32_t _sram_a_start[], _sram_a_end[], _sram_b_start[], _sram_b_end[];

static const struct ethosu_memory memories[] = {
    {"MRAM", _mram_start, _mram_end, .masters = ETHOSU_MASTERS_READ,
     .cache = ETHOSU_CACHE_WRITE_THROUGH, .cpu = ETHOSU_CPU_CODE},
    {"DTCM", _dtcm_start, _dtcm_end, .npu_address = ALIF_DTCM_ON_BUS, .masters = ETHOSU_MASTERS_ALL,
     .cache = ETHOSU_CACHE_NONE},
    {ALIF_SRAM_A_NAME, _sram_a_start, _sram_a_end, .masters = ETHOSU_MASTERS_ALL,
     .cpu = ETHOSU_CPU_ALL},
    {ALIF_SRAM_B_NAME, _sram_b_start, _sram_b_end, .masters = ETHOSU_MASTERS_ALL},
#ifdef BOARD_EMULATED_ROMFS
    {"FLASH", (void *)BOARD_EMULATED_ROMFS,
     (void *)(BOARD_EMULATED_ROMFS + BOARD_EMULATED_ROMFS_SIZE), .masters = ETHOSU_MASTERS_READ,
     .cache = ETHOSU_CACHE_WRITE_THROUGH, .cpu = ETHOSU_CPU_CODE},
#endif
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

/**
 * DMA1 or DMA2, with interrupt 0 for event 0. A copy takes about 590 instructions, with the data
 * cache on 760, and 9 for every line that is cleaned and discarded; by the CPU 42 and 9 for every
 * 16 bytes.
 */
const struct dma_board dma_board = {
    .base = 0x400C0000u,
    .irq = 0,
    .abort_irq = 32,
    .least = 1024,
    .least_cached = 2560,
};

static void start_dma(void)
{
    configuration->dma_control &= ~(uint32_t)DMA_NOT_SECURE;
    configuration->dma_events = 0;
    configuration->dma_peripherals = 0;
    configuration->dma_control |= DMA_RESET;
}

/** Bit n lets UARTn have its clock, bit 8 + n chooses the clock of 100 MHz. */
#define UART_CLOCKS (*(volatile uint32_t *)0x4902F008u)

/** What a pin does: the function, and how its driver is set. */
#define PIN(offset) (*(volatile uint32_t *)(0x1A603000u + (offset)))
#define PIN_INPUT (1u << 16)     /**< its receiver is on */
#define PIN_OUTPUT (0x44u << 16) /**< 8 mA, fast */

static void uart_prepare(void)
{
    UART_CLOCKS |= 1u << ALIF_UART | 1u << (8u + ALIF_UART);
    PIN(ALIF_UART_RX) = ALIF_UART_FUNCTION | PIN_INPUT;
    PIN(ALIF_UART_TX) = ALIF_UART_FUNCTION | PIN_OUTPUT;
}

const struct uart_16550 uart_16550 = {
    .base = 0x49018000u + ALIF_UART * 0x1000u,
    .irq = 124u + ALIF_UART,
    .clock_hz = 100000000u,
    .prepare = uart_prepare,
};

const struct nvm board_nvm = {.write = mram_write};

void board_init(void)
{
    configuration->clock_enable |= CLOCK_NPU | CLOCK_DMA;
    start_dma();
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    return 0;
}

const uint8_t *board_unique_id(size_t *size)
{
    // Only the Secure Enclave can read the chip's number, and this firmware does not ask it.
    static const uint8_t id[] = BOARD_PLATFORM;
    *size = sizeof(id) - 1;
    return id;
}
