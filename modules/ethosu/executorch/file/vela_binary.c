// SPDX-License-Identifier: MIT
/** Reads an Ethos-U delegate's data; see vela_binary.h. */
#include "executorch/file/vela_binary.h"

#include <string.h>

#include "runtime/file/checked.h"

/** A block's header: its name, its size without padding, and whether its data is elsewhere. */
enum header { HEADER_NAME = 16, HEADER_SIZE_AT = 16, HEADER_EXTERNAL_AT = 20, HEADER_BYTES = 32 };

#define BLOCK_ALIGNMENT 16u

/** Fields of an input or output: six dimensions, element size, offset, region. */
enum io { IO_WORDS = 9, IO_ELEMENT = 6, IO_OFFSET = 7, IO_REGION = 8 };

/** Block names as in their headers; the first block precedes all others. */
enum { LAST_BLOCK = VELA_BLOCKS, FIRST_BLOCK, NAMED_BLOCKS };
static const char names[NAMED_BLOCKS][HEADER_NAME] = {
    "cmd_data", "weight_data",     "scratch_size",    "inputs",
    "outputs",  "vela_end_stream", "vela_bin_stream",
};

static bool refuse(struct vela_fault *fault, const void *name, const char *what, uint32_t found,
                   uint32_t expected)
{
    *fault = (struct vela_fault){.what = what, .found = found, .expected = expected};
    memcpy(fault->block, name, HEADER_NAME);
    return false;
}

static bool is_name(const uint8_t *header, const char *name)
{
    return fb_word(header) == fb_word(name) && fb_word(header + 4) == fb_word(name + 4) &&
           fb_word(header + 8) == fb_word(name + 8) && fb_word(header + 12) == fb_word(name + 12);
}

/** Find the number of a block by name; NAMED_BLOCKS if not found. */
static unsigned find_block(const uint8_t *header, unsigned expected)
{
    unsigned block = expected; // other orders are also valid
    for (unsigned i = 0; !is_name(header, names[block]); i++) {
        if (i == NAMED_BLOCKS) {
            return NAMED_BLOCKS;
        }
        block = block + 1 < NAMED_BLOCKS ? block + 1 : 0;
    }
    return block;
}

/** Are all blocks present, only the large ones external, and nothing `behind` them? */
static bool check_blocks(const struct vela_binary *binary, uint32_t seen, uint32_t behind,
                         struct vela_fault *fault)
{
    uint32_t missing = ~seen & ((1u << VELA_BLOCKS) - 1);
    uint32_t wrong = binary->external & ~0u << VELA_SCRATCH_SIZE;
    if (behind != 0) {
        return refuse(fault, names[LAST_BLOCK], "bytes after the last block", behind, 0);
    }
    if (missing != 0) {
        return refuse(fault, names[__builtin_ctz(missing)], "blocks of this name", 0, 1);
    }
    return wrong == 0 ||
           refuse(fault, names[__builtin_ctz(wrong)], "external blocks of this name", 1, 0);
}

/** Take the block at *at; returns its header. */
static const uint8_t *take_block(struct program_bytes data, uint32_t *at, uint32_t *size,
                                 struct vela_fault *fault)
{
    const uint8_t *header = data.data + *at;
    uint32_t left = data.size - *at;
    if (left < HEADER_BYTES) {
        refuse(fault, names[FIRST_BLOCK], "bytes of the next block's header", left, HEADER_BYTES);
        return NULL;
    }
    *size = fb_word(header + HEADER_SIZE_AT);
    left -= HEADER_BYTES;
    uint32_t padded = (*size + BLOCK_ALIGNMENT - 1) & ~(BLOCK_ALIGNMENT - 1);
    if (*size > left || padded > left) {
        refuse(fault, header, "bytes, more than remain", *size, left);
        return NULL;
    }
    *at += HEADER_BYTES + padded;
    return header;
}

static bool read_blocks(struct vela_binary *binary, struct program_bytes data,
                        struct vela_fault *fault)
{
    uint32_t at = 0;
    uint32_t size;
    uint32_t seen = 0;
    unsigned expected = FIRST_BLOCK;
    const uint8_t *header;
    binary->external = 0;
    while ((header = take_block(data, &at, &size, fault)) != NULL) {
        unsigned block = find_block(header, expected);
        if (expected == FIRST_BLOCK) {
            if (block != FIRST_BLOCK || size != 0) {
                return refuse(fault, header,
                              "bytes in the first block, which must be vela_bin_stream", size, 0);
            }
            expected = VELA_COMMANDS;
        } else if (block < LAST_BLOCK && !(seen & 1u << block)) {
            const uint32_t bit = 1u << block;
            binary->blocks[block] = (struct program_bytes){header + HEADER_BYTES, size};
            binary->external |= header[HEADER_EXTERNAL_AT] != 0 ? bit : 0;
            seen |= bit;
            expected = block + 1;
        } else if (block == LAST_BLOCK) {
            return check_blocks(binary, seen, data.size - at, fault);
        } else {
            return refuse(fault, header, "bytes before this unknown or repeated block", at, 0);
        }
    }
    return false;
}

/** Get the number of inputs or outputs that a block describes. */
static bool count_ios(const struct vela_binary *binary, enum vela_block block, uint32_t *count,
                      struct vela_fault *fault)
{
    struct program_bytes content = binary->blocks[block];
    *count = content.size < 4 ? 0 : fb_word(content.data);
    uint64_t size = 4 + (uint64_t)*count * IO_WORDS * 4;
    uint32_t expected = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
    return content.size == size || refuse(fault, names[block], "bytes, inconsistent with its count",
                                          content.size, expected);
}

bool vela_open(struct vela_binary *binary, struct program_bytes data, struct vela_fault *fault)
{
    if (!read_blocks(binary, data, fault)) {
        return false;
    }
    struct program_bytes scratch = binary->blocks[VELA_SCRATCH_SIZE];
    if (scratch.size != 4) {
        return refuse(fault, names[VELA_SCRATCH_SIZE], "bytes", scratch.size, 4);
    }
    binary->scratch_size = fb_word(scratch.data);
    return count_ios(binary, VELA_INPUTS, &binary->inputs, fault) &&
           count_ios(binary, VELA_OUTPUTS, &binary->outputs, fault);
}

void vela_get_io(const struct vela_binary *binary, enum vela_block block, uint32_t index,
                 struct vela_io *io)
{
    const uint8_t *at = binary->blocks[block].data + 4 + index * IO_WORDS * 4;
    uint32_t size = fb_word(at + 4 * IO_ELEMENT);
    io->shape = at;
    io->element_size = size;
    io->offset = fb_word(at + 4 * IO_OFFSET);
    io->region = fb_word(at + 4 * IO_REGION);
    for (uint32_t i = 0; i < VELA_RANK; i++, at += 4) {
        uint32_t dimension = fb_word(at);
        if (dimension > 1 && !checked_mul(size, dimension, &size)) {
            size = UINT32_MAX;
            break;
        }
    }
    io->size = size;
}
