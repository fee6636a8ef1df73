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

/** Names of the blocks, as their headers have them, in the order in which Vela's data has them. */
static const char names[][HEADER_NAME] = {
    "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", "vela_end_stream",
};
static const char first_name[HEADER_NAME] = "vela_bin_stream";

enum { LAST_BLOCK = VELA_BLOCKS, NAMED_BLOCKS };

static uint32_t word(const void *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

static bool refuse(struct vela_fault *fault, const char *name, const char *what, uint32_t found,
                   uint32_t expected)
{
    *fault = (struct vela_fault){.what = what, .found = found, .expected = expected};
    memcpy(fault->block, name, HEADER_NAME);
    return false;
}

static bool is_name(const uint8_t *header, const char *name)
{
    return word(header) == word(name) && word(header + 4) == word(name + 4) &&
           word(header + 8) == word(name + 8) && word(header + 12) == word(name + 12);
}

/** Number of a block by its name, NAMED_BLOCKS when it has another one. */
static unsigned find_block(const uint8_t *header, unsigned expected)
{
    if (expected < NAMED_BLOCKS && is_name(header, names[expected])) {
        return expected;
    }
    unsigned block = 0; // another order is right as well
    while (block < NAMED_BLOCKS && !is_name(header, names[block])) {
        block++;
    }
    return block;
}

/** Take the block at *at. */
static bool take_block(struct program_bytes data, uint32_t *at, struct program_bytes *content,
                       struct vela_fault *fault)
{
    uint32_t left = data.size - *at;
    if (left < HEADER_BYTES) {
        return refuse(fault, first_name, "bytes of the next block's header", left, HEADER_BYTES);
    }
    const uint8_t *header = data.data + *at;
    uint32_t size = word(header + HEADER_SIZE_AT);
    uint32_t padded;
    left -= HEADER_BYTES;
    if (!checked_align(size, BLOCK_ALIGNMENT, &padded) || padded > left) {
        return refuse(fault, (const char *)header, "bytes of the block, more than are left", size,
                      left);
    }
    *content = (struct program_bytes){header + HEADER_BYTES, size};
    *at += HEADER_BYTES + padded;
    return true;
}

static bool read_blocks(struct vela_binary *binary, struct program_bytes data,
                        struct vela_fault *fault)
{
    struct program_bytes content;
    uint32_t at = 0;
    if (!take_block(data, &at, &content, fault)) {
        return false;
    }
    if (!is_name(data.data, first_name) || content.size != 0) {
        return refuse(fault, (const char *)data.data,
                      "bytes in the first block, which must be vela_bin_stream", content.size, 0);
    }
    for (unsigned expected = 0; take_block(data, &at, &content, fault); expected++) {
        const uint8_t *header = content.data - HEADER_BYTES;
        unsigned block = find_block(header, expected);
        if (block == LAST_BLOCK) {
            return at == data.size ||
                   refuse(fault, names[block], "bytes behind the last block", data.size - at, 0);
        }
        if (block == NAMED_BLOCKS || binary->blocks[block].data != NULL) {
            return refuse(fault, (const char *)header,
                          "a block of this name, which is unknown or there twice, at byte", at, 0);
        }
        binary->blocks[block] = content;
        binary->external[block] = header[HEADER_EXTERNAL_AT] != 0;
    }
    return false;
}

/** How many inputs or outputs a block describes. */
static bool count_ios(const struct vela_binary *binary, enum vela_block block, uint32_t *count,
                      struct vela_fault *fault)
{
    struct program_bytes content = binary->blocks[block];
    uint32_t bytes;
    *count = content.size < 4 ? 0 : word(content.data);
    if (content.size < 4 || !checked_mul(*count, IO_WORDS * 4, &bytes) ||
        content.size != bytes + 4) {
        return refuse(fault, names[block], "bytes, where its count asks for another number",
                      content.size, *count);
    }
    return true;
}

bool vela_open(struct vela_binary *binary, struct program_bytes data, struct vela_fault *fault)
{
    *binary = (struct vela_binary){0};
    if (!read_blocks(binary, data, fault)) {
        return false;
    }
    for (unsigned block = 0; block < VELA_BLOCKS; block++) {
        if (binary->blocks[block].data == NULL) {
            return refuse(fault, names[block], "blocks of this name", 0, 1);
        }
        if (binary->external[block] && block >= VELA_SCRATCH_SIZE) {
            return refuse(fault, names[block], "external blocks of this name", 1, 0);
        }
    }
    struct program_bytes scratch = binary->blocks[VELA_SCRATCH_SIZE];
    if (scratch.size != 4) {
        return refuse(fault, names[VELA_SCRATCH_SIZE], "bytes", scratch.size, 4);
    }
    binary->scratch_size = word(scratch.data);
    return count_ios(binary, VELA_INPUTS, &binary->inputs, fault) &&
           count_ios(binary, VELA_OUTPUTS, &binary->outputs, fault);
}

void vela_get_io(const struct vela_binary *binary, enum vela_block block, uint32_t index,
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
            io->size = UINT32_MAX;
            return;
        }
    }
}
