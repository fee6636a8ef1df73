// SPDX-License-Identifier: MIT
/**
 * The core's own registers (CMSIS), configured by the board's mpconfigboard.h.
 */
#ifndef FIRMWARE_CPU_H
#define FIRMWARE_CPU_H

#include <stdint.h>

#include "mpconfigboard.h"

/** Exceptions of the core; devices are plain numbers below BOARD_IRQ_COUNT. */
typedef enum {
    NonMaskableInt_IRQn = -14,
    HardFault_IRQn = -13,
    MemoryManagement_IRQn = -12,
    BusFault_IRQn = -11,
    UsageFault_IRQn = -10,
    SecureFault_IRQn = -9,
    SVCall_IRQn = -5,
    DebugMonitor_IRQn = -4,
    PendSV_IRQn = -2,
    SysTick_IRQn = -1,
    Device0_IRQn = 0,
    DeviceLast_IRQn = BOARD_IRQ_COUNT - 1, // so that the type has as many bits as the numbers
} IRQn_Type;

#define __CM55_REV 0x0001u
#define __NVIC_PRIO_BITS BOARD_IRQ_PRIORITY_BITS
#define __Vendor_SysTickConfig 0
#define __MPU_PRESENT 1
#define __FPU_PRESENT 1
#define __DSP_PRESENT 1
#define __MVE_PRESENT 1
#define __ICACHE_PRESENT 1
#define __DCACHE_PRESENT 1
#define __VTOR_PRESENT 1
#define __SAUREGION_PRESENT 1

#ifndef CORE_HEADER
#define CORE_HEADER "core_cm55.h"
#endif
#include CORE_HEADER

#endif
