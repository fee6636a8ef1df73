// SPDX-License-Identifier: MIT
/**
 * Parses the payload of Vela's custom operator: finds its command stream and
 * the NPU that it was compiled for. Supports COP1, a list of driver actions,
 * and COP2, one entry with metadata. Never reads outside [data, data + size).
 */
#include "ethosu_ext.h"
#include "driver/base/ethosu_build.h"
#include "driver/base/ethosu_count.h"
#include "driver/base/ethosu_registers.h"
#include "driver/base/ethosu_fault.h"

#include <string.h>

#define COP1 0x31504F43u /* "COP1" */
#define COP2 0x32504F43u /* "COP2" */
#define VEUM 0x4D554556u /* "VEUM": kind of metadata */

enum action {
    ACTION_OPTIMIZER_CONFIG = 1,
    ACTION_COMMAND_STREAM = 2,
    ACTION_NOP = 5,
};

/** The only kind of entry in COP2. */
#define ENTRY_COMMAND_STREAM 1u

/** The payload and the read position. */
struct reader {
    const uint8_t *data;
    uint32_t size;
    uint32_t at;
    struct ethosu_ext_fault *fault;
};

static uint32_t word_at(const struct reader *reader, uint32_t at)
{
    uint32_t word;
    memcpy(&word, reader->data + at, sizeof word);
    return word;
}

/** Are there `bytes` more bytes from the reader's current action on? */
static int require(const struct reader *reader, uint32_t bytes)
{
    uint32_t left = reader->at < reader->size ? reader->size - reader->at : 0;
    if (left < bytes) {
        return ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_CUT, (int)reader->at, left,
                                 bytes);
    }
    return 0;
}

static int take_stream(struct reader *reader, struct ethosu_ext_payload *payload, uint32_t offset,
                       uint32_t bytes)
{
    if (payload->stream != NULL) {
        return ethosu_ext_fail(reader->fault, ETHOSU_EXT_E_PAYLOAD_TWICE, (int)reader->at);
    }
    if (bytes == 0) {
        return ethosu_ext_fail(reader->fault, ETHOSU_EXT_E_PAYLOAD_EMPTY, (int)reader->at);
    }
    payload->stream = reader->data + offset;
    payload->stream_bytes = bytes;
    return 0;
}

static int take_config(struct reader *reader, struct ethosu_ext_payload *payload)
{
    RETURN_IF_ERROR(require(reader, 12));
    payload->has_config = true;
    payload->config = word_at(reader, reader->at + 4);
    payload->id = word_at(reader, reader->at + 8);
    reader->at += 12;
    return 0;
}

static int take_stream_action(struct reader *reader, struct ethosu_ext_payload *payload,
                              uint32_t word)
{
    uint32_t bytes = 4 * ((word >> 16) | (word & 0xFF00u) << 8);
    RETURN_IF_ERROR(require(reader, 4 + bytes));
    int error = take_stream(reader, payload, reader->at + 4, bytes);
    reader->at += 4 + bytes;
    return error;
}

/** One driver action: command[7:0], length high part[15:8], length low part[31:16]. */
static int take_action(struct reader *reader, struct ethosu_ext_payload *payload)
{
    uint32_t word = word_at(reader, reader->at);
    switch (word & 0xFFu) {
    case ACTION_OPTIMIZER_CONFIG:
        return take_config(reader, payload);
    case ACTION_COMMAND_STREAM:
        return take_stream_action(reader, payload, word);
    case ACTION_NOP:
        reader->at += 4;
        return 0;
    default:
        return ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_ACTION, (int)reader->at,
                                 word & 0xFFu, 0);
    }
}

static int parse_cop1(struct reader *reader, struct ethosu_ext_payload *payload)
{
    reader->at = 4;
    while (reader->at < reader->size) {
        RETURN_IF_ERROR(take_action(reader, payload));
    }
    return 0;
}

/* Bytes of a COP2 payload: header, one entry, its metadata; the stream follows them. */
enum {
    COP2_VERSION = 4,
    COP2_TOTAL = 8, /**< 64 bits: bytes after the header */
    COP2_ENTRY = 16,
    COP2_ENTRY_BYTES = 20, /**< bytes after this word */
    COP2_METADATA_BYTES = 24,
    COP2_METADATA = 28,
    COP2_METADATA_VERSION = 32,
    COP2_FIELDS_BYTES = 36,
    COP2_CONFIG = 40,
    COP2_ID = 44,
    COP2_FEATURES = 48,
    COP2_STAGING = 52, /**< 64 bits: of the fast scratch */
    COP2_MIN_BYTES = 60,
};

/** Version 1.0, of the payload and of its metadata. */
#define VERSION_1_0 1u
/** Addressing: of the whole network (1), or with separate input and output regions (2). */
#define FEATURES 3u

/** Check that a word of the payload has the expected value. */
static int expect(const struct reader *reader, uint32_t at, uint32_t expected)
{
    uint32_t found = word_at(reader, at);
    return found == expected ? 0
                             : ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_FIELD, (int)at,
                                                 found, expected);
}

/** Check that the sizes of the parts are consistent. */
static int check_cop2_sizes(struct reader *reader)
{
    uint32_t entry_bytes = word_at(reader, COP2_ENTRY_BYTES);
    uint32_t metadata_bytes = word_at(reader, COP2_METADATA_BYTES);
    reader->at = COP2_ENTRY;
    if (entry_bytes > reader->size - COP2_METADATA_BYTES) {
        return ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_CUT, COP2_ENTRY,
                                 reader->size - COP2_METADATA_BYTES, entry_bytes);
    }
    uint32_t most = entry_bytes >= 4 ? entry_bytes - 4 : 0;
    if (entry_bytes % 4 != 0 || metadata_bytes % 4 != 0 || metadata_bytes > most ||
        metadata_bytes < COP2_MIN_BYTES - COP2_METADATA) {
        return ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_FIELD, COP2_METADATA_BYTES,
                                 metadata_bytes, most);
    }
    return expect(reader, COP2_TOTAL, entry_bytes + COP2_METADATA_BYTES - COP2_ENTRY);
}

/** Check the constant fields: kind and version of the payload and of its metadata. */
static int check_cop2_fields(const struct reader *reader)
{
    static const struct {
        uint32_t at;
        uint32_t value;
    } fields[] = {
        {COP2_VERSION, VERSION_1_0},
        {COP2_TOTAL + 4, 0},
        {COP2_METADATA, VEUM},
        {COP2_METADATA_VERSION, VERSION_1_0},
        {COP2_FIELDS_BYTES, COP2_MIN_BYTES - COP2_CONFIG},
        {COP2_STAGING + 4, 0},
    };
    for (uint32_t i = 0; i < COUNT(fields); i++) {
        RETURN_IF_ERROR(expect(reader, fields[i].at, fields[i].value));
    }
    uint32_t features = word_at(reader, COP2_FEATURES);
    return expect(reader, COP2_FEATURES, features & FEATURES);
}

static int parse_cop2(struct reader *reader, struct ethosu_ext_payload *payload)
{
    RETURN_IF_ERROR(require(reader, COP2_MIN_BYTES));
    uint32_t entry = word_at(reader, COP2_ENTRY);
    if (entry != ENTRY_COMMAND_STREAM) {
        return ethosu_ext_refuse(reader->fault, ETHOSU_EXT_E_PAYLOAD_ACTION, COP2_ENTRY, entry, 0);
    }
    RETURN_IF_ERROR(check_cop2_sizes(reader));
    RETURN_IF_ERROR(check_cop2_fields(reader));
    payload->has_config = true;
    payload->config = word_at(reader, COP2_CONFIG);
    payload->id = word_at(reader, COP2_ID);
    payload->fast_scratch = word_at(reader, COP2_STAGING);
    uint32_t metadata_bytes = word_at(reader, COP2_METADATA_BYTES);
    return take_stream(reader, payload, COP2_METADATA + metadata_bytes,
                       word_at(reader, COP2_ENTRY_BYTES) - 4 - metadata_bytes);
}

int ethosu_ext_parse_payload(const void *data, size_t size, struct ethosu_ext_payload *payload,
                             struct ethosu_ext_fault *fault)
{
    payload->stream = NULL;
    payload->has_config = false;
    payload->config = payload->id = payload->fast_scratch = 0;
    if (data == NULL) {
        return ethosu_ext_fail(fault, ETHOSU_EXT_E_ARGUMENT, 1);
    }
    if (size < 8 || size % 4 != 0 || size > INT32_MAX) {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_PAYLOAD_SIZE, -1, size, 8);
    }
    struct reader reader = {data, (uint32_t)size, 0, fault};
    uint32_t magic = word_at(&reader, 0);
    if (magic == COP1) {
        RETURN_IF_ERROR(parse_cop1(&reader, payload));
    } else if (magic == COP2) {
        RETURN_IF_ERROR(ETHOSU_COP2 ? parse_cop2(&reader, payload)
                                    : ethosu_ext_fail(fault, ETHOSU_EXT_E_NO_COP2, -1));
    } else {
        return ethosu_ext_refuse(fault, ETHOSU_EXT_E_PAYLOAD_MAGIC, -1, magic, COP1);
    }
    return payload->stream != NULL ? 0 : ethosu_ext_fail(fault, ETHOSU_EXT_E_PAYLOAD_EMPTY, -1);
}

int ethosu_get_product_config_from_cop_data(const void *custom_data_ptr, const int custom_data_size,
                                            uint32_t *product_out, uint32_t *log2_macs_out)
{
    struct ethosu_ext_payload payload;
    size_t size = custom_data_size > 0 ? (size_t)custom_data_size : 0;
    if (ethosu_ext_parse_payload(custom_data_ptr, size, &payload, NULL) != 0 ||
        !payload.has_config) {
        return -1;
    }
    if (product_out != NULL) {
        *product_out = NPU_CONFIG_PRODUCT(payload.config);
    }
    if (log2_macs_out != NULL) {
        *log2_macs_out = NPU_CONFIG_MACS(payload.config);
    }
    return 0;
}

int ethosu_ext_check_fast_memory(struct ethosu_driver *drv, size_t size)
{
    size_t given = drv->fast_memory != 0 ? drv->fast_memory_size : 0;
    return size <= given ? 0
                         : ethosu_ext_refuse(&drv->fault, ETHOSU_EXT_E_FAST_MEMORY, 2, size, given);
}
