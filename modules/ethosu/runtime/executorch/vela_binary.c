// SPDX-License-Identifier: MIT
/** Reads an Ethos-U delegate's data; see vela_binary.h. */
#include "vela_binary.h"

#include <string.h>

#include "checked.h"

/** A block's header: its name, its size without padding, and whether its data is elsewhere. */
enum header { HEADER_NAME = 16, HEADER_SIZE_AT = 16, HEADER_EXTERNAL_AT = 20, HEADER_BYTES = 32 };

#define BLOCK_ALIGNMENT 16u

/** Of an input or output: six dimensions, element size, offset, region. */
enum io { IO_WORDS = 9, IO_ELEMENT = 6, IO_OFFSET = 7, IO_REGION = 8 };

static const char first_name[] = "vela_bin_stream";
static const char last_name[] = "vela_end_stream";

static const char *const names[VELA_BLOCKS] = {
    [VELA_COMMANDS] = "cmd_data",         [VELA_WEIGHTS] = "weight_data",
    [VELA_SCRATCH_SIZE] = "scratch_size", [VELA_INPUTS] = "inputs",
    [VELA_OUTPUTS] = "outputs",
};

static uint32_t word(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool refuse(struct vela_fault *fault, const char *what, uint32_t found, uint32_t expected)
{
    fault->what = what;
    fault->found = found;
    fault->expected = expected;
    return false;
}

/** Take the block at *at: its name becomes the fault's, which a later refusal names. */
static bool take_block(struct program_bytes data, uint32_t *at, struct program_bytes *content,
                       bool *external, struct vela_fault *fault)
{
    uint32_t left = data.size - *at;
    if (left < HEADER_BYTES) {
        return refuse(fault, "bytes of the next block's header", left, HEADER_BYTES);
    }
    const uint8_t *header = data.data + *at;
    memcpy(fault->block, header, HEADER_NAME);
    fault->block[HEADER_NAME] = '\0';
    uint32_t size = word(header + HEADER_SIZE_AT);
    uint32_t padded;
    left -= HEADER_BYTES;
    if (!checked_align(size, BLOCK_ALIGNMENT, &padded) || padded > left) {
        return refuse(fault, "bytes of the block, more than are left", size, left);
    }
    *content = (struct program_bytes){header + HEADER_BYTES, size};
    *external = header[HEADER_EXTERNAL_AT] != 0;
    *at += HEADER_BYTES + padded;
    return true;
}

/** Number of a block with contents, VELA_BLOCKS when it has another name. */
static enum vela_block find_block(const char *name)
{
    unsigned block = 0;
    while (block < VELA_BLOCKS && strcmp(names[block], name) != 0) {
        block++;
    }
    return (enum vela_block)block;
}

static bool read_blocks(struct vela_binary *binary, struct program_bytes data,
                        struct vela_fault *fault)
{
    struct program_bytes content;
    bool external;
    uint32_t at = 0;
    if (!take_block(data, &at, &content, &external, fault)) {
        return false;
    }
    if (strcmp(fault->block, first_name) != 0 || content.size != 0) {
        return refuse(fault, "bytes in the first block, which must be vela_bin_stream",
                      content.size, 0);
    }
    while (take_block(data, &at, &content, &external, fault)) {
        if (strcmp(fault->block, last_name) == 0) {
            return at == data.size ||
                   refuse(fault, "bytes behind the last block", data.size - at, 0);
        }
        enum vela_block block = find_block(fault->block);
        if (block == VELA_BLOCKS || binary->blocks[block].data != NULL) {
            return refuse(fault, "a block of this name, which is unknown or there twice, at byte",
                          at, 0);
        }
        binary->blocks[block] = content;
        binary->external[block] = external;
    }
    return false;
}

/** How many inputs or outputs a block describes. */
static bool count_ios(struct vela_binary *binary, enum vela_block block, uint32_t *count,
                      struct vela_fault *fault)
{
    struct program_bytes content = binary->blocks[block];
    uint32_t bytes;
    *count = content.size < 4 ? 0 : word(content.data);
    if (content.size < 4 || !checked_mul(*count, IO_WORDS * 4, &bytes) ||
        content.size != bytes + 4) {
        return refuse(fault, "bytes, where its count asks for another number", content.size,
                      *count);
    }
    return true;
}

bool vela_open(struct vela_binary *binary, struct program_bytes data, struct vela_fault *fault)
{
    *binary = (struct vela_binary){0};
    *fault = (struct vela_fault){0};
    if (!read_blocks(binary, data, fault)) {
        return false;
    }
    for (unsigned block = 0; block < VELA_BLOCKS; block++) {
        memcpy(fault->block, names[block], strlen(names[block]) + 1);
        if (binary->blocks[block].data == NULL) {
            return refuse(fault, "blocks of this name", 0, 1);
        }
        if (binary->external[block] && block != VELA_COMMANDS && block != VELA_WEIGHTS) {
            return refuse(fault, "external blocks of this name", 1, 0);
        }
    }
    struct program_bytes scratch = binary->blocks[VELA_SCRATCH_SIZE];
    memcpy(fault->block, names[VELA_SCRATCH_SIZE], strlen(names[VELA_SCRATCH_SIZE]) + 1);
    if (scratch.size != 4) {
        return refuse(fault, "bytes", scratch.size, 4);
    }
    binary->scratch_size = word(scratch.data);
    memcpy(fault->block, names[VELA_INPUTS], strlen(names[VELA_INPUTS]) + 1);
    if (!count_ios(binary, VELA_INPUTS, &binary->inputs, fault)) {
        return false;
    }
    memcpy(fault->block, names[VELA_OUTPUTS], strlen(names[VELA_OUTPUTS]) + 1);
    return count_ios(binary, VELA_OUTPUTS, &binary->outputs, fault);
}

bool vela_get_io(const struct vela_binary *binary, enum vela_block block, uint32_t index,
                 struct vela_io *io)
{
    const uint8_t *at = binary->blocks[block].data + 4 + index * IO_WORDS * 4;
    io->size = io->element_size = word(at + 4 * IO_ELEMENT);
    io->offset = word(at + 4 * IO_OFFSET);
    io->region = word(at + 4 * IO_REGION);
    for (uint32_t i = 0; i < VELA_RANK; i++) {
        io->shape[i] = word(at + 4 * i);
        uint32_t size = io->shape[i] == 0 ? 1 : io->shape[i];
        if (!checked_mul(io->size, size, &io->size)) {
            return false;
        }
    }
    return io->size != 0 && io->size <= INT32_MAX && io->offset <= INT32_MAX;
}
