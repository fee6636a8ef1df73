// SPDX-License-Identifier: MIT
/**
 * Layout of output tensors: what the NPU leaves in the arena is not always
 * what the program's tensor looks like. Rows may be padded, and two 4-bit
 * values may share a byte. The rules are those of ExecuTorch's Ethos-U backend.
 */
#ifndef ETHOSU_LAYOUT_H
#define ETHOSU_LAYOUT_H

#include "ethosu_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What the command stream has written, and what the tensor wants. */
struct ethosu_ext_layout {
    void *tensor;
    size_t tensor_bytes;
    uint32_t tensor_element; /**< bytes per element; 1 and signed for 4-bit values */
    const void *source;      /**< in the arena */
    size_t source_bytes;     /**< that may be read there */
    uint32_t shape[6];       /**< of the stream's output; 0 counts as 1 */
    uint32_t element;        /**< bytes per element in the stream */
    bool check_only;         /**< say whether it is possible; copy nothing */
};

/**
 * Copy an output into its tensor: chunk by chunk through
 * arm_ethos_io_memcpy(), or unpacked from 4 to 8 bits, low half first. Nothing
 * is copied when source and tensor are the same memory in the same layout.
 * Everything is checked before the first byte is written.
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
