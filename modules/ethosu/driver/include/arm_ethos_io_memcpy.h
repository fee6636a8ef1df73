// SPDX-License-Identifier: MIT
/**
 * The one hook through which tensor data is copied to and from the arena.
 *
 * It is weak and alone in its translation unit: a board that has a DMA
 * controller defines a function of this name. Nothing but tensor traffic goes
 * through it. The name is ExecuTorch's, so an override made for it works here.
 */
#ifndef ARM_ETHOS_IO_MEMCPY_H
#define ARM_ETHOS_IO_MEMCPY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Copy `size` bytes; the ranges do not overlap, any alignment; complete on return. */
void arm_ethos_io_memcpy(void *dst, const void *src, size_t size);

#ifdef __cplusplus
}
#endif

#endif
