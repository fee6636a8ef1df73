// SPDX-License-Identifier: MIT
/**
 * Semihosting's SYS_HEAPINFO: where the guest's C library has its heap and its stack.
 *
 * QEMU's own answer is a guess from its memory map, and wrong for an image whose data is in
 * another memory: newlib's start-up then has no heap, and malloc() and fopen() return NULL.
 */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdint.h>

/**
 * The block that the call fills, in its order (Arm, Semihosting for AArch32 and AArch64,
 * SYS_HEAPINFO). 0: the image decides, as newlib's does from its linker script.
 */
struct semihosting_heap {
    uint32_t heap_base;
    uint32_t heap_limit;
    uint32_t stack_base;
    uint32_t stack_limit;
};

/** Give this answer on a Cortex-M; ends QEMU with an error message if it cannot be given. */
void semihosting_create(const struct semihosting_heap *heap);

#endif
