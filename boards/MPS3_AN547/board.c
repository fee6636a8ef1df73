// SPDX-License-Identifier: MIT
/**
 * MPS3 with image AN547: Cortex-M55 and Ethos-U55 on Corstone-300
 * (Arm DAI 0547). Also the memory map of QEMU's mps3-an547 and of the FVP.
 */
#include "board.h"

#include "cpu.h"
#include "ethosu_board.h"
#include "fault.h"
#include "irq.h"
#include "startup.h"

#define RTC_DATA 0x4930B000u /**< PL031: seconds since 1970 */

extern uint32_t _ssram_end[], _dtcm_start[], _dtcm_end[], _isram_start[], _isram_end[];
extern uint32_t _qspi_start[], _qspi_end[], _ddr_start[], _ddr_end[];

const struct board_range board_ranges[] = {
    {_code_start, _code_end, BOARD_CODE},
    {_code_end, _ssram_end, BOARD_DATA},
    {_dtcm_start, _dtcm_end, BOARD_DATA},
    {_isram_start, _isram_end, BOARD_DATA},
    {_qspi_start, _qspi_end, BOARD_CODE},
    {_ddr_start, _ddr_end, BOARD_HEAP},
    {(void *)0x40000000u, (void *)0x60000000u, BOARD_DEVICE},
};
const size_t board_range_count = sizeof(board_ranges) / sizeof(board_ranges[0]);

static const struct ethosu_board_npu npus[] = {
    {.base = 0x48102000u, .secure = true, .privileged = true},
    {.base = 0x48104000u, .secure = true, .privileged = true}, // only on the emulator, if asked for
};
static const unsigned npu_irqs[] = {56, 59};

static const struct ethosu_board_range npu_ranges[] = {
    {0x01000000u, 0x00200000u, false, "SSRAM", ETHOSU_PORT_DEFAULT}, // the code lies there
    {0x21000000u, 0x00400000u, true, "ISRAM", ETHOSU_PORT_DEFAULT},
    {0x28000000u, 0x00800000u, false, "QSPI", ETHOSU_PORT_DEFAULT},
    {0x60000000u, 0x10000000u, true, "DDR", ETHOSU_PORT_DEFAULT},
};

const struct ethosu_board ethosu_board = {
    .name = BOARD_NAME,
    .npus = npus,
    .npu_count = sizeof(npus) / sizeof(npus[0]),
    .ranges = npu_ranges,
    .range_count = sizeof(npu_ranges) / sizeof(npu_ranges[0]),
    .cache_line = 32,
};

/** Stock QEMU has a stub there that reads as 0; an NPU's ID register never does. */
bool ethosu_board_npu_present(size_t index)
{
    uint32_t id = 0;
    return index < ethosu_board.npu_count &&
           fault_guarded_read((const volatile uint32_t *)npus[index].base, &id) && id != 0;
}

void ethosu_board_irq_connect(size_t index, void (*handler)(void *argument), void *argument)
{
    irq_connect(npu_irqs[index], handler, argument);
}

void ethosu_board_irq_disconnect(size_t index)
{
    irq_disconnect(npu_irqs[index]);
}

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
