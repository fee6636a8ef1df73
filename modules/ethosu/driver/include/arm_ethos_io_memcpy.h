// SPDX-License-Identifier: MIT
/**
 * Hook that copies tensor data to and from the arena, and nothing else.
 *
 * It is weak and alone in its translation unit, so a board with a DMA controller
 * can override it. The name is ExecuTorch's; overrides written for it work here.
 */
#ifndef ARM_ETHOS_IO_MEMCPY_H
#define ARM_ETHOS_IO_MEMCPY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Copy `size` bytes between non-overlapping ranges of any alignment; complete on return. */
void arm_ethos_io_memcpy(void *dst, const void *src, size_t size);

#ifdef __cplusplus
}
#endif

#endif
