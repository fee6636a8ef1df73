// SPDX-License-Identifier: MIT
/**
 * Start-up of either Cortex-M55 of Alif Ensemble E3, E5, E7, E8. Sources of the
 * numbers: README.md.
 */
#include "board.h"

#include "cpu.h"
#include "mpconfigboard.h"
#include "mram.h"

/** Configuration of the core's own devices. */
static struct {
    volatile uint32_t dma_control;
    volatile uint32_t dma_events;      /**< a bit for each: not secure */
    volatile uint32_t dma_peripherals; /**< the same */
    uint32_t unused;
    volatile uint32_t clock_enable;
} *const configuration = (void *)ALIF_CORE_CONFIGURATION;

/** Clocks of devices that the cores share; ALIF_SHARED_CLOCKS has the bits of those that are used.
 */
#define SHARED_CLOCKS (*(volatile uint32_t *)0x1A602014u)

enum {
    CLOCK_NPU = 1u << 0,
    CLOCK_DMA = 1u << 4,
    DMA_NOT_SECURE = 1u << 0, /**< its manager, from the next reset on */
    DMA_RESET = 1u << 16,
};

static void start_dma(void)
{
    configuration->dma_control &= ~(uint32_t)DMA_NOT_SECURE;
    configuration->dma_events = 0;
    configuration->dma_peripherals = 0;
    configuration->dma_control |= DMA_RESET;
}

/** Forces the clocks of shared devices and of their bus on, as Alif's start-up code does. */
#define DEVICE_CLOCKS (*(volatile uint32_t *)0x4902F000u)
#define FORCE_CLOCKS (3u << 30)

/** Bit n lets UARTn have its clock, bit 8 + n chooses the clock of 100 MHz. */
#define UART_CLOCKS (*(volatile uint32_t *)0x4902F008u)

/** Number of the console's UART. */
#define UART ((BOARD_UART_BASE - 0x49018000u) / 0x1000u)

/** Pin configuration: its function and driver settings. */
#define PIN(offset) (*(volatile uint32_t *)(0x1A603000u + (offset)))
/** A pin of the chip, by port and number: for `define` in board.toml. */
#define ALIF_PIN(port, pin) ((port) * 32u + (pin) * 4u)
#define PIN_INPUT (1u << 16)     /**< its receiver is on */
#define PIN_OUTPUT (0x44u << 16) /**< 8 mA, fast */

void board_uart_prepare(void)
{
    UART_CLOCKS |= 1u << UART | 1u << (8u + UART);
    PIN(ALIF_UART_RX) = ALIF_UART_FUNCTION | PIN_INPUT;
    PIN(ALIF_UART_TX) = ALIF_UART_FUNCTION | PIN_OUTPUT;
}

const struct nvm board_nvm = {.write = mram_write};

void board_init(void)
{
    DEVICE_CLOCKS |= FORCE_CLOCKS;
    configuration->clock_enable |= CLOCK_NPU | CLOCK_DMA;
    if (ALIF_SHARED_CLOCKS != 0) {
        SHARED_CLOCKS |= ALIF_SHARED_CLOCKS;
    }
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
    // Only the Secure Enclave can read the chip's number; this firmware does not use it.
    static const uint8_t id[] = BOARD_PLATFORM;
    *size = sizeof(id) - 1;
    return id;
}
