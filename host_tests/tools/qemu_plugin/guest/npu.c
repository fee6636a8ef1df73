// SPDX-License-Identifier: MIT
/** The NPU as the scenarios use it. */
#include "guest.h"

/** Command words: cmd0 is opcode and parameter, cmd1 has a payload word after it. */
#define CMD0(opcode, parameter) ((opcode) | (uint32_t)(parameter) << 16)
#define CMD1(opcode) ((opcode) | 1u << 14)

enum opcode {
    OP_STOP = 0x000,
    OP_DMA_START = 0x010,
    SET_DMA0_SRC = 0x30,
    SET_DMA0_DST = 0x31,
    SET_DMA0_LEN = 0x32,
    SET_DMA0_SRC_REGION = 0x130,
    SET_DMA0_DST_REGION = 0x131,
};

enum npu_cmd { CMD_RUN = 0x1, CMD_CLEAR_IRQ = 0x2, CMD_CLOCK_AND_POWER = 0xC };

uint32_t *copy(uint32_t *at, uint32_t from, uint32_t to, uint32_t size)
{
    const uint32_t words[] = {
        CMD0(SET_DMA0_SRC_REGION, 0), CMD0(SET_DMA0_DST_REGION, 0),
        CMD1(SET_DMA0_SRC),           from,
        CMD1(SET_DMA0_DST),           to,
        CMD1(SET_DMA0_LEN),           size,
        CMD0(OP_DMA_START, 0),
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *at++ = words[i];
    }
    return at;
}

uint32_t *stop(uint32_t *at)
{
    *at++ = CMD0(OP_STOP, 0xFFFF);
    return at;
}

void npu_start(const uint32_t *begin, const uint32_t *end)
{
    NPU(NPU_QBASE) = (uint32_t)begin;
    NPU(NPU_QBASE + 4) = 0;
    NPU(NPU_QSIZE) = (uint32_t)((uintptr_t)end - (uintptr_t)begin);
    NPU(NPU_QCONFIG) = 2;
    NPU(NPU_BASEP) = 0;
    NPU(NPU_BASEP + 4) = 0;
    NPU(NPU_CMD) = CMD_CLOCK_AND_POWER | CMD_RUN;
}

static volatile uint32_t status_at_interrupt;

void npu_interrupt(void)
{
    status_at_interrupt = NPU(NPU_STATUS);
    NPU(NPU_CMD) = CMD_CLOCK_AND_POWER | CMD_CLEAR_IRQ;
}

uint32_t npu_run(const uint32_t *begin, const uint32_t *end)
{
    uint32_t before = irq_count[NPU_IRQ];
    irq_enable(NPU_IRQ);
    npu_start(begin, end);
    sleep_until_changed(&irq_count[NPU_IRQ], before);
    return status_at_interrupt;
}
