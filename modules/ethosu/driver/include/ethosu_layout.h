// SPDX-License-Identifier: MIT
/**
 * Layout of output tensors. The NPU's output in the arena may differ from the
 * program's tensor: rows may be padded, and two 4-bit values may share a byte.
 * The rules are those of ExecuTorch's Ethos-U backend.
 */
#ifndef ETHOSU_LAYOUT_H
#define ETHOSU_LAYOUT_H

#include "ethosu_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Layout written by the command stream, and layout of the tensor. */
struct ethosu_ext_layout {
    void *tensor;
    size_t tensor_bytes;
    uint32_t tensor_element; /**< bytes per element; 1 and signed for 4-bit values */
    const void *source;      /**< in the arena */
    size_t source_bytes;     /**< readable bytes at the source */
    uint32_t shape[6];       /**< shape of the stream's output; 0 counts as 1 */
    uint32_t element;        /**< bytes per element in the stream */
    bool check_only;         /**< only check; copy nothing */
};

/**
 * Copy an output into its tensor, either in chunks with arm_ethos_io_memcpy(), or
 * unpacked from 4 to 8 bits, low half first. Nothing is copied if source and tensor
 * share memory and layout. Everything is checked before the first byte is written.
 *
 * @param fault  set on failure; may be NULL
 * @return       0 or an enum ethosu_ext_error
 */
int ethosu_ext_adjust_layout(const struct ethosu_ext_layout *layout,
                             struct ethosu_ext_fault *fault);

#ifdef __cplusplus
}
#endif

#endif
