// SPDX-License-Identifier: MIT
/**
 * The part of mmap() that the simulated bus needs: fresh memory whose pages cost nothing until they
 * are used. Emscripten's own mmap() would fill it.
 */
#ifndef SIM_WASM_MMAN_H
#define SIM_WASM_MMAN_H

#include <stddef.h>

#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 1
#define MAP_ANONYMOUS 2
#define MAP_NORESERVE 4
#define MAP_FAILED ((void *)-1)

/** Zeroed memory at a multiple of 64 KiB; the arguments except `size` must be those of the bus. */
void *mmap(void *address, size_t size, int protection, int flags, int file, long offset);

#endif
