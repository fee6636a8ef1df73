// SPDX-License-Identifier: MIT
/** MicroPython's hardware layer: time and interrupts. */
#ifndef FIRMWARE_MPHALPORT_H
#define FIRMWARE_MPHALPORT_H

#include "irq.h"

#define MICROPY_BEGIN_ATOMIC_SECTION() irq_mask()
#define MICROPY_END_ATOMIC_SECTION(state) irq_restore(state)

#define MICROPY_INTERNAL_WFE(timeout_ms) irq_wait_ms((uint32_t)(timeout_ms)) // -1: without a limit

#define MICROPY_PY_PENDSV_ENTER uint32_t pendsv_state = irq_mask();
#define MICROPY_PY_PENDSV_EXIT irq_restore(pendsv_state);

void mp_hal_set_interrupt_char(int character);

#endif
