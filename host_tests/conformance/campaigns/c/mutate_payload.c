// SPDX-License-Identifier: MIT
/** See mutate_payload.h. */
#include "mutate_payload.h"

#include "ethosu_ext.h"
#include "libfuzzer.h"
#include "mutate_stream.h"

#include <string.h>

enum { WORD = 4, MAX_WORDS = 1 << 14, MAX_CHANGES = 3 };

/** Words of a COP2 payload that contain the number of bytes up to the end of the stream. */
enum { COP2_TOTAL = 8, COP2_ENTRY_BYTES = 20 };

/** Action of a COP1 payload that does nothing. */
enum { COP1_NOP = 5 };

static uint32_t load(const uint8_t *at)
{
    uint32_t word;
    memcpy(&word, at, WORD);
    return word;
}

static void store(uint8_t *at, uint32_t word)
{
    memcpy(at, &word, WORD);
}

/** Write the stream's new length into the payload, COP1 or COP2. */
static void set_length(uint8_t *data, uint32_t offset, uint32_t old, uint32_t words)
{
    if (data[3] == '1') {
        uint8_t *action = data + offset - WORD;
        store(action, words << 16 | (words >> 16) << 8 | action[0]);
        return;
    }
    store(data + COP2_TOTAL, load(data + COP2_TOTAL) + WORD * (words - old));
    store(data + COP2_ENTRY_BYTES, load(data + COP2_ENTRY_BYTES) + WORD * (words - old));
}

static size_t change_stream(uint8_t *data, size_t size, size_t max_size,
                            const struct ethosu_ext_payload *payload)
{
    static uint32_t words[MAX_WORDS];
    uint32_t sizes[STREAM_REGIONS] = {65536, 262144, 4096};
    uint32_t offset = (uint32_t)(payload->stream - data);
    uint32_t old = (uint32_t)payload->stream_bytes / WORD;
    size_t room = old + (max_size - size) / WORD;
    struct stream stream = {
        .family = draw(STREAM_FAMILIES),
        .words = words,
        .count = old,
        .most = (uint32_t)(room < MAX_WORDS ? room : MAX_WORDS),
        .sizes = sizes,
    };
    memcpy(words, payload->stream, payload->stream_bytes);
    for (uint32_t changes = 1 + draw(MAX_CHANGES); changes > 0; changes--) {
        stream_mutate(&stream);
    }
    size_t behind = size - offset - WORD * (size_t)old;
    uint8_t *end = data + offset + WORD * (size_t)stream.count;
    memmove(end, data + size - behind, behind);
    memcpy(data + offset, words, WORD * (size_t)stream.count);
    set_length(data, offset, old, stream.count);
    return (size_t)(end - data) + behind;
}

size_t mutate_payload(uint8_t *data, size_t size, size_t max_size)
{
    struct ethosu_ext_payload payload;
    if (draw(4) == 0 || ethosu_ext_parse_payload(data, size, &payload, NULL) != 0 ||
        payload.stream_bytes > WORD * MAX_WORDS) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    if (draw(8) == 0) {
        size_t head = (size_t)(payload.stream - data);
        LLVMFuzzerMutate(data, head, head);
        return size;
    }
    return change_stream(data, size, max_size, &payload);
}

void mutate_payload_in_place(uint8_t *data, size_t size)
{
    for (size_t at = mutate_payload(data, size, size); size - at >= WORD; at += WORD) {
        store(data + at, COP1_NOP);
    }
}
