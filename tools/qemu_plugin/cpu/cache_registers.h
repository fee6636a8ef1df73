// SPDX-License-Identifier: MIT
/** Cache registers in the CPU's System Control Space, which QEMU only implements as stubs. */
#ifndef CACHE_REGISTERS_H
#define CACHE_REGISTERS_H

/** Map them over QEMU's if a coherence mode is selected; ends QEMU on failure. */
void cache_registers_create(void);

/** Machine reset: both caches are off. */
void cache_registers_reset(void);

#endif
