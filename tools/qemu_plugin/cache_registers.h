// SPDX-License-Identifier: MIT
/** Registers of the caches in the CPU's System Control Space, which QEMU only has as stubs. */
#ifndef CACHE_REGISTERS_H
#define CACHE_REGISTERS_H

/** Put them over QEMU's, if the user wants a coherence mode; ends QEMU when it cannot. */
void cache_registers_create(void);

/** Machine reset: both caches are off. */
void cache_registers_reset(void);

#endif
