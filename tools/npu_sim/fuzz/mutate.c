// SPDX-License-Identifier: MIT
/**
 * Mutator of the command stream target: keeps words whole and commands known.
 *
 * Random bytes nearly always die as unknown commands; here most mutations put
 * a command of the table, or another parameter, where a word of the stream is.
 */
#include <string.h>

#include "fuzz.h"

enum { HEADER = 3, WORD = 4, PAYLOAD = 0x4000 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/** A command that the config has which the input's first byte chooses. */
static uint32_t random_command(uint8_t choice, uint32_t *state)
{
    const char *config = fuzz_config(choice);
    struct npu_command_info info;
    unsigned rows = 0;
    while (npu_command_info(config, rows, &info)) {
        rows++;
    }
    npu_command_info(config, next(state) % rows, &info);
    uint32_t param = next(state) & 0xFFFF;
    if (next(state) % 8 != 0) {
        param &= info.param_mask;
    }
    if (next(state) % 2 != 0) {
        param &= 0x1F;
    }
    return param << 16 | info.code;
}

/** A payload: small, near a power of two, or anything. */
static uint32_t random_payload(uint32_t *state)
{
    uint32_t value = next(state);
    switch (next(state) % 4) {
    case 0:
        return value & 0xFF;
    case 1:
        return value & 0xFF0;
    case 2:
        return (1u << value % 32) - (next(state) & 1);
    default:
        return value << 8 ^ next(state);
    }
}

static uint32_t load(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, WORD);
    return word;
}

/** Offset of the word after the command at offset. */
static size_t command_end(const uint8_t *stream, size_t offset)
{
    return offset + (load(stream + offset) & PAYLOAD ? 2 * WORD : WORD);
}

/** Offset of a command in the stream, found from its start as the NPU reads it. */
static size_t some_command(const uint8_t *stream, size_t bytes, uint32_t *state)
{
    size_t wanted = next(state) % bytes;
    size_t at = 0;
    while (at + 3 * WORD <= bytes && command_end(stream, at) <= wanted) {
        at = command_end(stream, at);
    }
    return at;
}

static void set_length(uint8_t *data, size_t bytes)
{
    data[1] = (uint8_t)bytes;
    data[2] = (uint8_t)(bytes >> 8);
}

/** Insert one command before another; false when there is no room. */
static bool insert(uint8_t *data, size_t *size, size_t max_size, size_t bytes, uint32_t *state)
{
    uint32_t words[2] = {random_command(data[0], state), random_payload(state)};
    size_t length = words[0] & PAYLOAD ? 2 * WORD : WORD;
    if (*size + length > max_size || bytes + length > UINT16_MAX) {
        return false;
    }
    uint8_t *at = data + HEADER + some_command(data + HEADER, bytes, state);
    memmove(at + length, at, *size - (size_t)(at - data));
    memcpy(at, words, length);
    set_length(data, bytes + length);
    *size += length;
    return true;
}

/** Remove one command. */
static bool erase(uint8_t *data, size_t *size, size_t bytes, uint32_t *state)
{
    size_t start = some_command(data + HEADER, bytes, state);
    size_t end = command_end(data + HEADER, start);
    if (end >= bytes) {
        return false;
    }
    uint8_t *at = data + HEADER + start;
    memmove(at, at + (end - start), *size - HEADER - end);
    set_length(data, bytes - (end - start));
    *size -= end - start;
    return true;
}

/** Change a parameter or a payload in place. */
static void change(uint8_t *data, size_t bytes, uint32_t *state)
{
    uint8_t *stream = data + HEADER;
    size_t at = some_command(stream, bytes, state);
    uint32_t word = load(stream + at);
    if (word & PAYLOAD && at + 2 * WORD <= bytes && next(state) % 4 != 0) {
        uint32_t payload = random_payload(state);
        memcpy(stream + at + WORD, &payload, WORD);
    } else if (next(state) % 2 != 0) {
        word ^= 1u << (16 + next(state) % 16);
        memcpy(stream + at, &word, WORD);
    } else {
        word = (random_command(data[0], state) & 0xFFFF0000u) | (word & 0xFFFF);
        memcpy(stream + at, &word, WORD);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    uint32_t state = seed;
    size_t bytes = size < HEADER ? 0 : (size_t)data[1] | (size_t)data[2] << 8;
    if (bytes > size - HEADER || bytes < WORD || size < HEADER || next(&state) % 8 == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    unsigned kind = next(&state) % 8;
    if (kind == 0) {
        data[0] = (uint8_t)next(&state);
    } else if (kind == 1) {
        size_t head = HEADER + bytes;
        return head + LLVMFuzzerMutate(data + head, size - head, max_size - head);
    } else if (kind == 2 && insert(data, &size, max_size, bytes, &state)) {
        return size;
    } else if (kind == 3 && erase(data, &size, bytes, &state)) {
        return size;
    } else {
        change(data, bytes, &state);
    }
    return size;
}
