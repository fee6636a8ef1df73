// SPDX-License-Identifier: MIT
/** Identifies Arm's PrimeCell devices. */
#ifndef DRIVERS_PRIMECELL_H
#define DRIVERS_PRIMECELL_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

/** Part number, from registers PERIPH_ID_0 and 1; 0 if there is no device. */
static inline uint32_t primecell_part(uintptr_t base)
{
    uint32_t low, high;
    bool responds = fault_guarded_read((const volatile uint32_t *)(base + 0xFE0u), &low) &&
                    fault_guarded_read((const volatile uint32_t *)(base + 0xFE4u), &high);
    return responds ? (high & 0xFu) << 8 | (low & 0xFFu) : 0;
}

#endif
