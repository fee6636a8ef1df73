// SPDX-License-Identifier: MIT
/** Start-up of an Infineon PSOC Edge E84, Cortex-M55. Sources of the numbers: the pages of its
 * boards. */
#include "board.h"

#include "cpu.h"
#include "mpconfigboard.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))

/** Peripheral groups: clock enables, and resets, of their devices. */
struct group {
    volatile uint32_t enabled;
    volatile uint32_t reset;
};
#define GROUP_0_1 ((struct group *)0x42004050u) /**< PERI0, group 1 */
#define GROUP_1_2 ((struct group *)0x44004090u) /**< PERI1, group 2 */
enum { HSIOM = 1 << 0, GPIO = 1 << 1, SCB2 = 1 << 7 };
enum { NPU = 1 << 0 };

/** Dividers of PERI0, group 1, from CLK_HF10 with 100 MHz. */
#define DIVIDER_COMMAND REGISTER(0x42042000u)
#define SCB2_CLOCK REGISTER(0x42042C04u)
#define DIVIDER_16_1 REGISTER(0x42043404u) /**< 16-bit divider 1 */
#define SELECT_16_1 (1u | 1u << 8)
#define DIVIDER_DISABLE (1u << 30 | SELECT_16_1)
#define DIVIDER_ENABLE (1u << 31 | 0x3FFu << 16 | SELECT_16_1) /**< aligned to no other one */
#define DIVIDE_BY 62u

/** Port 6: pin 5 is an input, pin 7 drives; both have SCB2's UART as function 20. */
#define PORT_6_FUNCTIONS REGISTER(0x42800064u) /**< pins 4 to 7 */
#define PORT_6_PINS REGISTER(0x42810344u)
#define FUNCTIONS_MASK (0x1Fu << 8 | 0x1Fu << 24)
#define FUNCTIONS_ARE_UART (20u << 8 | 20u << 24)
#define PINS_MASK (0xFu << 20 | 0xFu << 28)
#define PINS_ARE_UART (0x8u << 20 | 0x6u << 28)

/** Power policy unit of the NPU: policy and status. */
#define NPU_POLICY REGISTER(0x44602000u)
#define NPU_STATUS REGISTER(0x44602008u)
enum { POLICY_MASK = 0xF, POLICY_ON = 8, POLICY_DYNAMIC = 1 << 8 };

/** Looks at a register that soon has another value. */
#define TRIES 100000u

static void wait_ms(unsigned ms)
{
    SysTick->LOAD = BOARD_CLOCK_HZ / 1000u - 1u;
    SysTick->VAL = 0;
    SysTick->CTRL = SysTick_CTRL_CLKSOURCE_Msk | SysTick_CTRL_ENABLE_Msk;
    while (ms > 0) {
        if (SysTick->CTRL & SysTick_CTRL_COUNTFLAG_Msk) {
            ms--;
        }
    }
    SysTick->CTRL = 0;
}

static void enable(struct group *group, uint32_t devices)
{
    group->reset &= ~devices;
    group->enabled |= devices;
}

void board_uart_prepare(void)
{
    enable(GROUP_0_1, HSIOM | GPIO | SCB2);
    DIVIDER_COMMAND = DIVIDER_DISABLE;
    DIVIDER_16_1 = (DIVIDE_BY - 1u) << 8;
    DIVIDER_COMMAND = DIVIDER_ENABLE;
    SCB2_CLOCK = SELECT_16_1;
    PORT_6_PINS = (PORT_6_PINS & ~PINS_MASK) | PINS_ARE_UART;
    PORT_6_FUNCTIONS = (PORT_6_FUNCTIONS & ~FUNCTIONS_MASK) | FUNCTIONS_ARE_UART;
}

/** If its power stays off, the NPU does not answer, and the image runs without it. */
static void start_npu(void)
{
    const uint32_t on = POLICY_DYNAMIC | POLICY_ON;
    enable(GROUP_1_2, NPU);
    NPU_POLICY = (NPU_POLICY & ~(uint32_t)POLICY_MASK) | on;
    for (uint32_t i = 0; i < TRIES && (NPU_STATUS & (POLICY_DYNAMIC | POLICY_MASK)) != on; i++) {
    }
}

/** The flash: its controller stays as the Cortex-M33 leaves it, and code runs from it. */
const struct nvm board_nvm = {
    .write = NULL,
    .why_not = "the ROM file system of this board is read-only: write its image with the flash "
               "tool, or copy models to /",
};

void board_init(void)
{
    wait_ms(BOARD_COMPANION_MS); // until the Cortex-M33 has opened the peripherals
    start_npu();
    SCB_EnableICache();
    SCB_EnableDCache();
}

uint32_t board_wall_clock(void)
{
    return 0; // the chip's RTC belongs to the Cortex-M33
}

const uint8_t *board_unique_id(size_t *size)
{
    static const uint8_t id[] = {'P', 'S', 'E', '8', '4'};
    *size = sizeof(id);
    return id;
}
