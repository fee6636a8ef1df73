// SPDX-License-Identifier: MIT
/**
 * The data of an Ethos-U delegate, which ExecuTorch calls vela_bin_stream: blocks
 * with a name, back to back. Source: backends/arm/arm_vela.py and
 * backends/arm/runtime of pytorch/executorch 1.5.
 */
#ifndef VELA_BINARY_H
#define VELA_BINARY_H

#include <stdbool.h>

#include "program.h"

/** Dimensions of an input or output. */
#define VELA_RANK 6u

/** The blocks with contents. */
enum vela_block {
    VELA_COMMANDS,
    VELA_WEIGHTS,
    VELA_SCRATCH_SIZE,
    VELA_INPUTS,
    VELA_OUTPUTS,
    VELA_BLOCKS /**< how many there are */
};

/** A delegate's data; block contents lie where they lie in the file. */
struct vela_binary {
    struct program_bytes blocks[VELA_BLOCKS];
    uint32_t external;     /**< bit n: block n holds the name of data that is elsewhere */
    uint32_t scratch_size; /**< bytes of region 1 */
    uint32_t inputs;
    uint32_t outputs;
};

/** An input or output of a delegate, in memory of the NPU. */
struct vela_io {
    const uint8_t *shape;  /**< VELA_RANK words in the file; 0 counts as 1 */
    uint32_t element_size; /**< bytes */
    uint32_t size;         /**< bytes; 0: elements have none */
    uint32_t offset;       /**< in its region */
    uint32_t region;
};

/** Why the data is refused, for a sentence; the block's name and two numbers. */
struct vela_fault {
    const char *what; /**< "block weight_data: 5000 bytes, 200 left", with found and expected */
    char block[17];   /**< its name */
    uint32_t found;
    uint32_t expected;
};

/** Read the blocks; false: `fault` says which is wrong. */
bool vela_open(struct vela_binary *binary, struct program_bytes data, struct vela_fault *fault);

/** Read an input or output; its size is UINT32_MAX when 32 bits cannot hold it. */
void vela_get_io(const struct vela_binary *binary, enum vela_block block, uint32_t index,
                 struct vela_io *io);

#endif
