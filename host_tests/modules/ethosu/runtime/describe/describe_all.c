// SPDX-License-Identifier: MIT
/** See describe_all.h. Sanitizers detect errors. */
#include "describe_all.h"

#include <stdlib.h>

static volatile uint8_t sum;

static void look(struct ethosu_describe_bytes bytes)
{
    if (bytes.size != 0) {
        sum += ((const uint8_t *)bytes.data)[0] + ((const uint8_t *)bytes.data)[bytes.size - 1];
    }
}

/** A refusal says why. */
static int checked(int status, const struct ethosu_model_error *error)
{
    if (status != ETHOSU_MODEL_OK && (status > 0 || error->text[0] == '\0')) {
        abort();
    }
    return status;
}

static void look_at_value(const struct ethosu_describe_value *value)
{
    look(value->data);
    look((struct ethosu_describe_bytes){value->tensor.name, value->tensor.name_length});
    for (uint32_t i = 0; i < value->tensor.rank; i++) {
        sum += (uint8_t)value->tensor.shape[i];
    }
}

static void describe_graph(struct ethosu_description *file, uint32_t index,
                           struct ethosu_model_error *error)
{
    struct ethosu_describe_graph graph;
    if (checked(ethosu_describe_graph(file, index, &graph, error), error) != 0) {
        return;
    }
    look(graph.name);
    look(graph.inputs);
    look(graph.outputs);
    look(graph.buffers);
    for (uint32_t i = 0; i <= graph.values; i++) {
        struct ethosu_describe_value value;
        if (checked(ethosu_describe_value(file, i, &value, error), error) == 0) {
            look_at_value(&value);
        }
    }
    for (uint32_t i = 0; i <= graph.operators; i++) {
        struct ethosu_describe_operator operation;
        struct ethosu_describe_npu_call call;
        if (checked(ethosu_describe_operator(file, i, &operation, error), error) == 0) {
            look(operation.name);
            look(operation.inputs);
            look(operation.outputs);
        }
        if (checked(ethosu_describe_npu_call(file, i, NULL, &call, error), error) == 0) {
            look(call.stream);
            look(call.constants);
            look(call.absent);
        }
    }
}

#if ETHOSU_PTE
static void describe_cases(struct ethosu_description *file, struct ethosu_model_error *error)
{
    for (uint32_t i = 0; i < file->cases; i++) {
        struct ethosu_describe_case bundled;
        struct ethosu_describe_value value;
        if (checked(ethosu_describe_case(file, i, &bundled, error), error) != 0) {
            return; // the limit of reads is reached, so each one is rejected
        }
        look(bundled.method);
        uint32_t most = bundled.inputs > bundled.outputs ? bundled.inputs : bundled.outputs;
        for (uint32_t k = 0; k < most; k++) {
            for (int is_output = 0; is_output < 2; is_output++) {
                int status = ethosu_describe_case_value(file, is_output != 0, k, &value, error);
                if (checked(status, error) == 0) {
                    look_at_value(&value);
                }
            }
        }
    }
}
#endif

static void describe_entries(struct ethosu_description *file, struct ethosu_model_error *error)
{
    for (uint32_t i = 0; i <= file->entries; i++) {
        struct ethosu_describe_entry entry;
        struct ethosu_describe_debug_row row;
        if (checked(ethosu_describe_entry(file, i, &entry, error), error) != 0) {
            continue;
        }
        look(entry.name);
        look(entry.content);
        uint32_t rows = ethosu_describe_debug_rows(entry.content);
        for (uint32_t k = 0; rows != UINT32_MAX && k < rows; k++) {
            if (ethosu_describe_debug_row(entry.content, k, &row)) {
                look(row.name);
            }
        }
    }
}

int describe_all(const void *file, size_t size, struct ethosu_model_error *error)
{
    struct ethosu_description description;
    int status = checked(ethosu_model_describe(file, size, &description, error), error);
    if (status != ETHOSU_MODEL_OK) {
        return status;
    }
    describe_entries(&description, error);
    for (uint32_t i = 0; i <= description.signatures && i < 300; i++) {
        struct ethosu_describe_signature signature;
        if (checked(ethosu_describe_signature(&description, i, &signature, error), error) == 0) {
            look(signature.name);
        }
    }
    for (uint32_t i = 0; i <= description.graphs && i < 300; i++) {
        describe_graph(&description, i, error);
    }
#if ETHOSU_PTE
    describe_cases(&description, error);
#endif
    return status;
}
