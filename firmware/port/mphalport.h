// SPDX-License-Identifier: MIT
/** MicroPython's hardware layer: time and interrupts. */
#ifndef FIRMWARE_MPHALPORT_H
#define FIRMWARE_MPHALPORT_H

#include "irq.h"

#define MICROPY_BEGIN_ATOMIC_SECTION() irq_mask()
#define MICROPY_END_ATOMIC_SECTION(state) irq_restore(state)

#define MICROPY_INTERNAL_WFE(timeout_ms) mp_hal_wait_ms((uint32_t)(timeout_ms))

#define MICROPY_PY_PENDSV_ENTER uint32_t pendsv_state = irq_mask();
#define MICROPY_PY_PENDSV_EXIT irq_restore(pendsv_state);

/** Sleep until an interrupt, at most this long; UINT32_MAX: without a limit. */
void mp_hal_wait_ms(uint32_t at_most_ms);

void mp_hal_set_interrupt_char(int character);

#endif
