// SPDX-License-Identifier: MIT
/**
 * The runtime's description of a model file, for the page. These exports write JSON to the console
 * of an instance that was not started. They return NULL, or an error message about the file.
 */
#include "runtime/describe/describer.h"

#include <string.h>

#include "host.h"
#include "py/objstr.h"
#include "runtime/file/failure.h"
#include "startup.h"

#define EXPORT(name) __attribute__((export_name(#name))) const char *name

EXPORT(web_describe)(const uint8_t *data, size_t size);
EXPORT(web_kernels)(const uint8_t *data, size_t size);

static struct ethosu_description file;
static struct ethosu_model_error error;

static void give(void *env, const char *text, size_t size)
{
    (void)env;
    host_write(text, size);
}

static const mp_print_t json = {NULL, give};

/** Separator before member `index` of a list. */
static const char *comma(uint32_t index)
{
    return index == 0 ? "" : ",";
}

static void write_text(struct ethosu_describe_bytes text)
{
    mp_str_print_json(&json, text.data, text.size);
}

static void write_numbers(struct ethosu_describe_bytes list)
{
    mp_printf(&json, ",[");
    for (uint32_t i = 0; i < list.size / sizeof(int32_t); i++) {
        int32_t number;
        memcpy(&number, (const int32_t *)list.data + i, sizeof number);
        mp_printf(&json, "%s%d", comma(i), (int)number);
    }
    mp_printf(&json, "]");
}

/** Write the position of bytes in the file. */
static void write_place(struct ethosu_describe_bytes bytes)
{
    size_t start = (size_t)((uintptr_t)bytes.data - (uintptr_t)file.program.data);
    mp_printf(&json, ",%u,%u", (unsigned)start, (unsigned)bytes.size);
}

/** [name, start of its content, size] */
static int write_entry(uint32_t index)
{
    struct ethosu_describe_entry entry;
    TRY(ethosu_describe_entry(&file, index, &entry, &error));
    write_text(entry.name);
    write_place(entry.content);
    return ETHOSU_MODEL_OK;
}

/** [name, size, offset in the arena, start of its constant, its size, type, shape] */
static int write_tensor(uint32_t index)
{
    struct ethosu_describe_value value;
    TRY(ethosu_describe_value(&file, index, &value, &error));
    write_text((struct ethosu_describe_bytes){value.tensor.name, value.tensor.name_length});
    mp_printf(&json, ",%u,%d", (unsigned)value.tensor.size, (int)value.offset);
    write_place(value.data);
    mp_printf(&json, ",%u", (unsigned)value.tensor.type);
    write_numbers(
        (struct ethosu_describe_bytes){value.tensor.shape, value.tensor.rank * sizeof(int32_t)});
    return ETHOSU_MODEL_OK;
}

/** [name, code, target NPU or "", inputs, outputs] */
static int write_operator(uint32_t index)
{
    struct ethosu_describe_operator operation;
    struct ethosu_describe_npu_call call = {0};
    TRY(ethosu_describe_operator(&file, index, &operation, &error));
    if (operation.runs_on == ETHOSU_ON_NPU) {
        TRY(ethosu_describe_npu_call(&file, index, NULL, &call, &error));
    }
    write_text(operation.name);
    mp_printf(&json, ",%u,\"%s\"", (unsigned)operation.code, call.npu);
    write_numbers(operation.inputs);
    write_numbers(operation.outputs);
    return ETHOSU_MODEL_OK;
}

static int write_list(uint32_t count, int (*write)(uint32_t index))
{
    mp_printf(&json, ",[");
    for (uint32_t i = 0; i < count; i++) {
        mp_printf(&json, "%s[", comma(i));
        TRY(write(i));
        mp_printf(&json, "]");
    }
    mp_printf(&json, "]");
    return ETHOSU_MODEL_OK;
}

static int write_file(const uint8_t *data, size_t size)
{
    struct ethosu_describe_graph graph;
    // Like ethosu_model_describe(), but without the readers of other formats, to keep the download
    // small.
    describe_start(&file, data, size);
    TRY(describe_open_tflite(&file, data, (uint32_t)size, &error));
    TRY(ethosu_describe_graph(&file, 0, &graph, &error));
    mp_printf(&json, "[%u", (unsigned)file.graphs);
    write_numbers(graph.inputs);
    write_numbers(graph.outputs);
    TRY(write_list(graph.values, write_tensor));
    TRY(write_list(graph.operators, write_operator));
    TRY(write_list(file.entries, write_entry));
    mp_printf(&json, "]");
    return ETHOSU_MODEL_OK;
}

/** Main graph: [graphs, inputs, outputs, tensors, operators, metadata]. */
EXPORT(web_describe)(const uint8_t *data, size_t size)
{
    return write_file(data, size) == ETHOSU_MODEL_OK ? NULL : error.text;
}

/** The result of ethosu_model_kernels(): [[operator, version, bytes of scratch]]. */
EXPORT(web_kernels)(const uint8_t *data, size_t size)
{
    const struct ethosu_model_source source = {.file = data, .file_size = size};
    // The page stores files at the start of the heap; the rows follow them.
    uintptr_t rows = ((uintptr_t)data + size + 15) & ~(uintptr_t)15;
    struct ethosu_model_kernel *kernels = (struct ethosu_model_kernel *)rows;
    uint32_t count = (uint32_t)(((uintptr_t)_gc_heap_end - rows) / sizeof *kernels);
    if (ethosu_model_kernels(&source, kernels, &count, &error) != ETHOSU_MODEL_OK) {
        return error.text;
    }
    mp_printf(&json, "[");
    for (uint32_t i = 0; i < count; i++) {
        mp_printf(&json, "%s[%u,%u,%u]", comma(i), (unsigned)kernels[i].operator_index,
                  (unsigned)kernels[i].version, (unsigned)kernels[i].scratch);
    }
    mp_printf(&json, "]");
    return NULL;
}
