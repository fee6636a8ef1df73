// SPDX-License-Identifier: MIT
/**
 * The data of an Ethos-U delegate, which ExecuTorch calls vela_bin_stream: named
 * blocks, back to back. Source: backends/arm/arm_vela.py and
 * backends/arm/runtime of pytorch/executorch 1.5.
 */
#ifndef VELA_BINARY_H
#define VELA_BINARY_H

#include <stdbool.h>

#include "executorch/file/program.h"

/** Dimensions of an input or output. */
#define VELA_RANK 6u

/** The blocks with contents. */
enum vela_block {
    VELA_COMMANDS,
    VELA_WEIGHTS,
    VELA_SCRATCH_SIZE,
    VELA_INPUTS,
    VELA_OUTPUTS,
    VELA_BLOCKS /**< number of blocks */
};

/** A delegate's data; block contents point into the file. */
struct vela_binary {
    struct program_bytes blocks[VELA_BLOCKS];
    uint32_t external;     /**< bit n: block n contains the name of external data */
    uint32_t scratch_size; /**< bytes of region 1 */
    uint32_t inputs;
    uint32_t outputs;
};

/** An input or output of a delegate, in memory of the NPU. */
struct vela_io {
    const uint8_t *shape;  /**< VELA_RANK words in the file; 0 counts as 1 */
    uint32_t element_size; /**< bytes */
    uint32_t size;         /**< bytes; 0 if the element size is 0 */
    uint32_t offset;       /**< in its region */
    uint32_t region;
};

/** Why the data is rejected, for messages: the block's name and two numbers. */
struct vela_fault {
    const char *what; /**< "block inputs: 40 bytes, expected 72", without the numbers */
    char block[17];   /**< its name */
    uint32_t found;
    uint32_t expected;
};

/** Read the blocks; false if one is wrong, which `fault` describes. */
bool vela_open(struct vela_binary *binary, struct program_bytes data, struct vela_fault *fault);

/** Read an input or output; its size is UINT32_MAX if it exceeds 32 bits. */
void vela_get_io(const struct vela_binary *binary, enum vela_block block, uint32_t index,
                 struct vela_io *io);

#endif
