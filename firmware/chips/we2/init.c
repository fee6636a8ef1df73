// SPDX-License-Identifier: MIT
/** Start-up of a Himax WE2. Sources of the numbers: the pages of its boards. */
#include "board.h"

#include "cpu.h"

/** System control: registers whose power is always on, and of the low-speed domain. */
#define NPU_RESET (*(volatile uint32_t *)0x56100214u) /**< SCU_U55_nSYSRESET */
#define NPU_RUNS 1u
#define UART0_PINS (*(volatile uint32_t *)0x52001118u) /**< SCU_UART0_PINMUX */
#define PINS_MASK 0x1F1Fu                              /**< function of PB0, function of PB1 */
#define PINS_ARE_UART 0x0101u

void board_uart_prepare(void)
{
    UART0_PINS = (UART0_PINS & ~PINS_MASK) | PINS_ARE_UART;
}

/** The flash: this firmware does not set its controller up for writes or memory-mapped reads. */
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
    return 0; // no battery for the chip's clocks
}

const uint8_t *board_unique_id(size_t *size)
{
    // Himax's SDK reads it in a library without source.
    static const uint8_t id[] = {'W', 'E', '2'};
    *size = sizeof(id);
    return id;
}
