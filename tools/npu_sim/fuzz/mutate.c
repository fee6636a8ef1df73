// SPDX-License-Identifier: MIT
/** libFuzzer mutator for the command stream target; see fuzz_stream.c for the input format. */
#include <string.h>

#include "fuzz.h"
#include "libfuzzer.h"
#include "mutate_stream.h"

enum { HEADER = 3, WORD = 4, MAX_WORDS = UINT16_MAX / WORD, MAX_CHANGES = 2 };

/** Change the stream; the bytes after it move to its new end. */
static size_t change_stream(uint8_t *data, size_t size, size_t max_size, size_t bytes)
{
    static uint32_t words[MAX_WORDS];
    uint32_t sizes[STREAM_REGIONS] = {1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13};
    size_t odd = bytes % WORD;
    size_t room = (bytes + max_size - size) / WORD;
    struct stream stream = {
        .family = stream_family(fuzz_config(data[0])),
        .words = words,
        .count = (uint32_t)(bytes / WORD),
        .most = (uint32_t)(room < MAX_WORDS ? room : MAX_WORDS),
        .sizes = sizes,
    };
    memcpy(words, data + HEADER, bytes - odd);
    for (uint32_t changes = 1 + draw(MAX_CHANGES); changes > 0; changes--) {
        stream_mutate(&stream);
    }
    size_t changed = WORD * (size_t)stream.count;
    size_t behind = size - HEADER - (bytes - odd);
    memmove(data + HEADER + changed, data + HEADER + bytes - odd, behind);
    memcpy(data + HEADER, words, changed);
    data[1] = (uint8_t)(changed + odd);
    data[2] = (uint8_t)((changed + odd) >> 8);
    return HEADER + changed + behind;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size_t bytes = size < HEADER ? 0 : (size_t)data[1] | (size_t)data[2] << 8;
    draw_from(seed);
    if (size < HEADER || bytes > size - HEADER || bytes < WORD || draw(8) == 0) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    size_t head = HEADER + bytes;
    switch (draw(8)) {
    case 0:
        data[0] = (uint8_t)draw(256);
        return size;
    case 1:
        return head + LLVMFuzzerMutate(data + head, size - head, max_size - head);
    default:
        return change_stream(data, size, max_size, bytes);
    }
}
