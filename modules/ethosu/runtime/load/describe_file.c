// SPDX-License-Identifier: MIT
/** Describes files of any format; see ethosu_describe.h. */
#include "runtime/describe/describer.h"

#include "runtime/load/debug_table.h"
#include "runtime/load/formats.h"
#include "ethosu_ext.h"
#include "driver/base/ethosu_count.h"

int ethosu_model_describe(const void *file, size_t size, struct ethosu_description *description,
                          struct ethosu_model_error *error)
{
    static int (*const open[])(struct ethosu_description *description, const void *file,
                               uint32_t size, struct ethosu_model_error *error) = {
        [ETHOSU_FILE_TFLITE] = describe_open_tflite,
#if ETHOSU_PTE
        [ETHOSU_FILE_PROGRAM] = describe_open_program,
        [ETHOSU_FILE_BUNDLE] = describe_open_bundle,
        [ETHOSU_FILE_DATA] = describe_open_data,
#endif
    };
    describe_start(description, file, size);
    description->kind = ethosu_file_kind_of(file, size)->number;
    if (description->kind < COUNT(open) && open[description->kind] != NULL && size <= INT32_MAX) {
        return open[description->kind](description, file, (uint32_t)size, error);
    }
    return error_set(error, ETHOSU_MODEL_BAD_FILE,
                     "not a model file: %u bytes without TFL3, ET12, BP08 or FT01 at byte 4",
                     (unsigned)size);
}

/* ---- calls to the formats ---- */

/** Reject an index out of range, and count a read. */
static int check_index(struct ethosu_description *description, const char *what, uint32_t index,
                       uint32_t count, struct ethosu_model_error *error)
{
    if (index >= count) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "no %s %u: it has %u", what, (unsigned)index,
                         (unsigned)count);
    }
    return describe_take(description, 1, error);
}

int ethosu_describe_entry(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_entry *entry, struct ethosu_model_error *error)
{
    TRY(check_index(description, "entry", index, description->entries, error));
    return reader_of(description)->format->entry(description, index, entry, error);
}

int ethosu_describe_signature(struct ethosu_description *description, uint32_t index,
                              struct ethosu_describe_signature *signature,
                              struct ethosu_model_error *error)
{
    struct tflite *file = &reader_of(description)->tflite;
    struct tflite_signature stored;
    TRY(check_index(description, "signature", index, description->signatures, error));
    struct fb_vector list = tflite_get_signatures(file);
    if (!tflite_get_signature(file, &list, index, &stored)) {
        return describe_damage(&file->fb, error);
    }
    if (stored.subgraph >= description->graphs) {
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "signature %u names subgraph %u, it has %u",
                         (unsigned)index, (unsigned)stored.subgraph, (unsigned)description->graphs);
    }
    signature->name = describe_text(stored.name);
    signature->graph = stored.subgraph;
    return ETHOSU_MODEL_OK;
}

int ethosu_describe_graph(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_graph *graph, struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    TRY(check_index(description, "graph", index, description->graphs, error));
    memset(graph, 0, sizeof *graph);
    TRY(reader->format->graph(description, index, graph, error));
    reader->graph = index;
    reader->values = graph->values;
    reader->operators = graph->operators;
    return ETHOSU_MODEL_OK;
}

int ethosu_describe_value(struct ethosu_description *description, uint32_t index,
                          struct ethosu_describe_value *value, struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    TRY(check_index(description, "value", index, reader->values, error));
    memset(value, 0, sizeof *value);
    value->offset = -1;
    return reader->format->value(description, index, value, error);
}

int ethosu_describe_operator(struct ethosu_description *description, uint32_t index,
                             struct ethosu_describe_operator *operation,
                             struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    TRY(check_index(description, "operator", index, reader->operators, error));
    memset(operation, 0, sizeof *operation);
    return reader->format->operation(description, index, operation, error);
}

int ethosu_describe_npu_call(struct ethosu_description *description, uint32_t index,
                             const struct ethosu_describe_bytes *data,
                             struct ethosu_describe_npu_call *call,
                             struct ethosu_model_error *error)
{
    struct reader *reader = reader_of(description);
    TRY(check_index(description, "operator", index, reader->operators, error));
    memset(call, 0, sizeof *call);
    TRY(reader->format->npu_call(description, index, data, call, error));
    return call->absent.data != NULL && call->payload.data == NULL
               ? ETHOSU_MODEL_OK
               : ethosu_describe_payload(call->payload.data, call->payload.size, call, error);
}

int ethosu_describe_payload(const void *payload, uint32_t size,
                            struct ethosu_describe_npu_call *call, struct ethosu_model_error *error)
{
    struct ethosu_ext_payload parsed;
    struct ethosu_ext_fault fault;
    char message[128];
    if (ethosu_ext_parse_payload(payload, size, &parsed, &fault) != 0) {
        ethosu_ext_describe(&fault, message, sizeof message);
        return error_set(error, ETHOSU_MODEL_BAD_FILE, "%s", message);
    }
    memcpy(call->npu, "unknown", sizeof "unknown");
    if (parsed.has_config) {
        ethosu_ext_config_name(parsed.config, call->npu);
    }
    call->payload = (struct ethosu_describe_bytes){payload, size};
    call->stream = (struct ethosu_describe_bytes){parsed.stream, (uint32_t)parsed.stream_bytes};
    return ETHOSU_MODEL_OK;
}

/* ---- the debug table ---- */

uint32_t ethosu_describe_debug_rows(struct ethosu_describe_bytes table)
{
    uint32_t rows = debug_table_rows(table.data, table.size);
    uint32_t most = table.size / (sizeof(uint32_t) * DEBUG_ENTRY_WORDS);
    if (rows == UINT32_MAX) {
        return rows;
    }
    for (rows = rows < most ? rows : most;
         rows > 0 && !debug_table_has_row(table.size, rows - 1);) {
        rows--;
    }
    return rows;
}

bool ethosu_describe_debug_row(struct ethosu_describe_bytes table, uint32_t index,
                               struct ethosu_describe_debug_row *row)
{
    const char *text = table.data;
    struct debug_row entry = debug_table_row(text, index);
    if (entry.name >= table.size) {
        return false;
    }
    uint32_t length = debug_table_name_length(text, table.size, entry.name);
    *row = (struct ethosu_describe_debug_row){entry.call, entry.end, {text + entry.name, length}};
    return true;
}
