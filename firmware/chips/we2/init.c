// SPDX-License-Identifier: MIT
/** Start-up of a Himax WE2. Sources of the numbers: the pages of its boards. */
#include "board.h"

#include "cpu.h"
#include "flash.h"

/** System control: registers whose power is always on, and of the low-speed domain. */
#define NPU_RESET (*(volatile uint32_t *)0x56100214u) /**< SCU_U55_nSYSRESET */
#define NPU_RUNS 1u
#define UART0_PINS (*(volatile uint32_t *)0x52001118u) /**< SCU_UART0_PINMUX */
#define PINS_MASK 0x1F1Fu                              /**< function of PB0, function of PB1 */
#define PINS_ARE_UART 0x0101u

/** System control, high-speed domain: protection of registers, and security of bus masters. */
#define APB2_PRIVILEGE (*(volatile uint32_t *)0x53070880u) /**< SCU_APB2_PPC_CFG_AP */
#define APB2_SECURITY (*(volatile uint32_t *)0x53070884u)  /**< SCU_APB2_PPC_CFG_NS */
#define NPU_REGISTERS (1u << 2)
#define AHB1M4 (*(volatile uint32_t *)0x53070858u) /**< SCU_AHB1M4_PPC_CFG_APNS */
#define DMA0_UNPRIVILEGED (1u << 1)
#define DMA0_NOT_SECURE (1u << 17)
#define NPU_MASTER (*(volatile uint32_t *)0x5307080Cu)  /**< SCU_U55_AXIMSC_CFG */
#define NPU_MASTER_FIELDS 0x0F0Fu                       /**< of its ports M0 and M1 */
#define DMA0_MASTER (*(volatile uint32_t *)0x53070810u) /**< SCU_DMA0_AHBMSC_IDAUCFG */
#define DMA0_MASTER_FIELDS (7u << 24)

void board_uart_prepare(void)
{
    UART0_PINS = (UART0_PINS & ~PINS_MASK) | PINS_ARE_UART;
}

/** The flash, which this firmware does not write. */
const struct nvm board_nvm = {
    .write = NULL,
    .is_there = flash_is_mapped,
    .why_not = "the ROM file system of this board is read-only: send it to the boot loader, with "
               "ethosu flash --rom, or copy models to /",
};

/**
 * Give the registers of the NPU and DMA0 to secure code, and let both access secure memory. The
 * boot loader does so only for what it uses itself; what a reset leaves is in no public document.
 */
static void secure_masters(void)
{
    APB2_SECURITY &= ~NPU_REGISTERS;
    APB2_PRIVILEGE |= NPU_REGISTERS;
    AHB1M4 = (AHB1M4 & ~DMA0_NOT_SECURE) | DMA0_UNPRIVILEGED;
    // Of each master: not secure, answer with errors, interrupts.
    NPU_MASTER &= ~NPU_MASTER_FIELDS;
    DMA0_MASTER &= ~DMA0_MASTER_FIELDS;
}

void board_init(void)
{
    secure_masters();
    (void)flash_map(); // without it there is no /rom
    // Himax's programs give the NPU a reset after that; its clock runs.
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
