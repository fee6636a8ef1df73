// SPDX-License-Identifier: MIT
/**
 * The payload of a custom operator that Vela wrote: where its command stream
 * is, and for which NPU it was compiled. Reads COP1, a list of driver actions,
 * and COP2, one entry with metadata. Never reads outside [data, data + size).
 */
#include "ethosu_driver_ex.h"
#include "ethosu_fault.h"

#include <string.h>

#define COP1 0x31504F43u /* "COP1" */
#define COP2 0x32504F43u /* "COP2" */
#define VEUM 0x4D554556u /* "VEUM": kind of metadata */

enum action {
    ACTION_OPTIMIZER_CONFIG = 1,
    ACTION_COMMAND_STREAM = 2,
    ACTION_NOP = 5,
};

/** The one kind of entry that COP2 has. */
#define ENTRY_COMMAND_STREAM 1u

/** The bytes and how far they are read. */
struct reader {
    const uint8_t *data;
    uint32_t size;
    uint32_t at;
    struct ethosux_fault *fault;
};

static uint32_t word_at(const struct reader *reader, uint32_t at)
{
    uint32_t word;
    memcpy(&word, reader->data + at, sizeof word);
    return word;
}

/** Are `bytes` more there, from the action at the reader's place on? */
static int need(const struct reader *reader, uint32_t bytes)
{
    uint32_t left = reader->at < reader->size ? reader->size - reader->at : 0;
    if (left < bytes) {
        return ethosux_refuse(reader->fault, ETHOSUX_E_PAYLOAD_CUT, (int)reader->at, left, bytes);
    }
    return 0;
}

static int take_stream(struct reader *reader, struct ethosux_payload *payload, uint32_t offset,
                       uint32_t bytes)
{
    if (payload->stream != NULL) {
        return ethosux_fail(reader->fault, ETHOSUX_E_PAYLOAD_TWICE, (int)reader->at);
    }
    if (bytes == 0) {
        return ethosux_fail(reader->fault, ETHOSUX_E_PAYLOAD_EMPTY, (int)reader->at);
    }
    payload->stream = reader->data + offset;
    payload->stream_bytes = bytes;
    return 0;
}

/** One driver action: command[7:0], length high part[15:8], length low part[31:16]. */
static int take_action(struct reader *reader, struct ethosux_payload *payload)
{
    uint32_t word = word_at(reader, reader->at);
    uint32_t action = word & 0xFFu;
    uint32_t bytes = 4;
    int error = 0;

    if (action == ACTION_OPTIMIZER_CONFIG) {
        bytes = 12;
        error = need(reader, bytes);
        if (error == 0) {
            payload->has_config = true;
            payload->config = word_at(reader, reader->at + 4);
            payload->id = word_at(reader, reader->at + 8);
        }
    } else if (action == ACTION_COMMAND_STREAM) {
        uint32_t stream_bytes = 4 * ((word >> 16) | (word & 0xFF00u) << 8);
        bytes = 4 + stream_bytes;
        error = need(reader, bytes);
        if (error == 0) {
            error = take_stream(reader, payload, reader->at + 4, stream_bytes);
        }
    } else if (action != ACTION_NOP) {
        error = ethosux_refuse(reader->fault, ETHOSUX_E_PAYLOAD_ACTION, (int)reader->at, action, 0);
    }
    reader->at += bytes;
    return error;
}

static int parse_cop1(struct reader *reader, struct ethosux_payload *payload)
{
    int error = 0;
    reader->at = 4;
    while (error == 0 && reader->at < reader->size) {
        error = take_action(reader, payload);
    }
    return error;
}

/**
 * Header of 16 bytes with the size of what follows, entry header of 8,
 * metadata size and metadata, then the stream.
 */
static int parse_cop2(struct reader *reader, struct ethosux_payload *payload)
{
    enum { TOTAL = 8, ENTRY = 16, ENTRY_SIZE = 20, METADATA_SIZE = 24, METADATA = 28 };
    enum { CONFIG = METADATA + 12, ID = METADATA + 16, METADATA_LEAST = 20 };

    reader->at = ENTRY;
    int error = need(reader, METADATA - ENTRY);
    if (error != 0) {
        return error;
    }
    uint32_t entry_bytes = word_at(reader, ENTRY_SIZE);
    uint32_t metadata_bytes = word_at(reader, METADATA_SIZE);
    if (word_at(reader, ENTRY) != ENTRY_COMMAND_STREAM) {
        return ethosux_refuse(reader->fault, ETHOSUX_E_PAYLOAD_ACTION, ENTRY,
                              word_at(reader, ENTRY), 0);
    }
    if (entry_bytes < 4 || metadata_bytes > entry_bytes - 4 || metadata_bytes % 4 != 0 ||
        entry_bytes % 4 != 0 || entry_bytes > reader->size - METADATA_SIZE ||
        word_at(reader, TOTAL) != entry_bytes + (METADATA_SIZE - ENTRY)) {
        return ethosux_refuse(reader->fault, ETHOSUX_E_PAYLOAD_CUT, ENTRY,
                              reader->size - METADATA_SIZE, entry_bytes);
    }
    if (metadata_bytes >= METADATA_LEAST && word_at(reader, METADATA) == VEUM) {
        payload->has_config = true;
        payload->config = word_at(reader, CONFIG);
        payload->id = word_at(reader, ID);
    }
    return take_stream(reader, payload, METADATA + metadata_bytes,
                       entry_bytes - 4 - metadata_bytes);
}

int ethosux_parse_payload(const void *data, size_t size, struct ethosux_payload *payload,
                          struct ethosux_fault *fault)
{
    *payload = (struct ethosux_payload){0};
    if (data == NULL) {
        return ethosux_fail(fault, ETHOSUX_E_ARGUMENT, 1);
    }
    if (size < 8 || size % 4 != 0 || size > INT32_MAX) {
        return ethosux_refuse(fault, ETHOSUX_E_PAYLOAD_SIZE, -1, size, 8);
    }
    struct reader reader = {data, (uint32_t)size, 0, fault};
    uint32_t magic = word_at(&reader, 0);
    if (magic != COP1 && magic != COP2) {
        return ethosux_refuse(fault, ETHOSUX_E_PAYLOAD_MAGIC, -1, magic, COP1);
    }
    int error = magic == COP1 ? parse_cop1(&reader, payload) : parse_cop2(&reader, payload);
    if (error == 0 && payload->stream == NULL) {
        error = ethosux_fail(fault, ETHOSUX_E_PAYLOAD_EMPTY, -1);
    }
    return error;
}
