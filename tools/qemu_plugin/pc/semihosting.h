// SPDX-License-Identifier: MIT
/**
 * Semihosting calls that QEMU answers otherwise than an FVP, or with more of the host than firmware
 * of others should have (Arm, Semihosting for AArch32 and AArch64).
 *
 * SYS_HEAPINFO: where the guest's C library has its heap and its stack. QEMU's own answer is a
 * guess from its memory map, and wrong for an image whose data is in another memory: newlib's
 * start-up then has no heap, and malloc() and fopen() return NULL.
 *
 * SYS_OPEN of the console for stderr: QEMU writes to its own stderr. An FVP has one console.
 *
 * SYS_OPEN, SYS_REMOVE, SYS_RENAME, SYS_TMPNAM: files below one folder only. SYS_SYSTEM: refused.
 * SYS_WRITE: to files up to a limit. If a debugger answers the calls, QEMU leaves them to it.
 */
#ifndef SEMIHOSTING_H
#define SEMIHOSTING_H

#include <stdbool.h>
#include <stdint.h>

/**
 * The block that the call fills, in its order (SYS_HEAPINFO). 0: the image decides, as newlib's
 * does from its linker script.
 */
struct semihosting_heap {
    uint32_t heap_base;
    uint32_t heap_limit;
    uint32_t stack_base;
    uint32_t stack_limit;
};

/**
 * Answer on a Cortex-M. Ends QEMU with an error message if it cannot be done.
 *
 * @param heap         the answer to SYS_HEAPINFO
 * @param one_console  send the guest's stderr to its stdout
 * @param folder       of the files; NULL: the working folder
 */
void semihosting_create(const struct semihosting_heap *heap, bool one_console, const char *folder);

#endif
