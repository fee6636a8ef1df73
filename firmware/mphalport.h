// SPDX-License-Identifier: MIT
/** MicroPython's hardware layer: time and interrupts. */
#ifndef FIRMWARE_MPHALPORT_H
#define FIRMWARE_MPHALPORT_H

#include "irq.h"

#define MICROPY_BEGIN_ATOMIC_SECTION() irq_mask()
#define MICROPY_END_ATOMIC_SECTION(state) irq_restore(state)

// The tick wakes the CPU every millisecond, so a time-out needs no separate timer.
#define MICROPY_INTERNAL_WFE(timeout_ms) irq_wait()

#define MICROPY_PY_PENDSV_ENTER uint32_t pendsv_state = irq_mask();
#define MICROPY_PY_PENDSV_EXIT irq_restore(pendsv_state);

#define __IO volatile // as in CMSIS; MicroPython declares the ticks with it
#define MICROPY_SOFT_TIMER_TICKS_MS clock_ticks_ms

void mp_hal_set_interrupt_char(int character);

#endif
