// SPDX-License-Identifier: MIT
/**
 * What cost.c and cost_arm.c count, with either driver's header before it: a client of Arm's
 * interface, with an NPU whose registers are plain memory with the values of one that has finished.
 */
#ifndef COUNTED_DRIVER_H
#define COUNTED_DRIVER_H

#include "counting.h"
#include "driver/base/ethosu_registers.h"

#include "cost_model.h" // made by test_cost.py: a payload of Vela's, and its regions' sizes

static uint32_t registers[0x2000 / 4];
static struct ethosu_driver drv;
static _Alignas(16) const uint32_t payload[] = {COST_PAYLOAD};
static const size_t sizes[] = {COST_SIZES};
static uint64_t bases[sizeof sizes / sizeof sizes[0]];

#define BASE_COUNT ((int)(sizeof sizes / sizeof sizes[0]))
#define FINISHED (1u << 1 | 1u << 5) /**< of STATUS: interrupt, end reached */

/** Initialise the driver for the NPU that the payload was compiled for. */
static int initialise(void)
{
    registers[NPU_CONFIG / 4] = payload[2];
    registers[NPU_ID / 4] = payload[3];
    registers[NPU_PROT / 4] = NPU_PROT_PRIVILEGED;
    for (int i = 0; i < BASE_COUNT; i++) {
        bases[i] = 0x20040000u; // of DTCM, where cost.ld puts nothing
    }
    return ethosu_init(&drv, registers, NULL, 0, 1, 1);
}

static void finish_npu(void)
{
    registers[NPU_STATUS / 4] = FINISHED;
    ethosu_irq_handler(&drv);
    registers[NPU_STATUS / 4] = 0;
}

static void interrupt_only(void)
{
    registers[NPU_STATUS / 4] = FINISHED;
    registers[NPU_STATUS / 4] = 0;
}

#endif
