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
#define DMA0 (1u << 1)
#define ISP (1u << 3)
#define DWC_FLASH (*(volatile uint32_t *)0x53070840u) /**< SCU_DWC_PPC_CFG_APNS */
#define ISP_FLASH (*(volatile uint32_t *)0x53070848u) /**< SCU_ISP_PPC_CFG_APNS */
#define FLASH 1u
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

/** Value of a register with a bit "unprivileged" for each device, and 16 bits higher "not secure".
 */
static uint32_t secure(uint32_t before, uint32_t devices)
{
    return (before & ~(devices << 16)) | devices;
}

/**
 * Give the registers of the NPU and DMA0 and the flash to secure code, and let both masters access
 * secure memory. The boot loader does so only for what it uses itself; what a reset leaves is in no
 * public document, so each of them may be closed.
 */
static void secure_devices(void)
{
    APB2_SECURITY &= ~NPU_REGISTERS;
    APB2_PRIVILEGE |= NPU_REGISTERS;
    AHB1M4 = secure(AHB1M4, DMA0 | ISP);
    DWC_FLASH = secure(DWC_FLASH, FLASH);
    ISP_FLASH = secure(ISP_FLASH, FLASH);
    // Of each master: not secure, answer with errors, interrupts.
    NPU_MASTER &= ~NPU_MASTER_FIELDS;
    DMA0_MASTER &= ~DMA0_MASTER_FIELDS;
}

void board_init(void)
{
    secure_devices();
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
