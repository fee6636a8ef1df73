// SPDX-License-Identifier: MIT
/** Tensors and operators of the current subgraph. See builder.h. */
#include "runtime/build/builder.h"

int build_bad_tensor(struct builder *builder, uint32_t tensor)
{
    const struct flatbuffer *fb = &builder->file.fb;
    if (fb->bad) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u of subgraph %u: malformed or truncated at byte %u of %u",
                         (unsigned)tensor, (unsigned)builder->graph_index, (unsigned)fb->bad_at,
                         (unsigned)fb->size);
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "tensor %u of subgraph %u: shape and data do not match", (unsigned)tensor,
                     (unsigned)builder->graph_index);
}

bool build_get_tensor(struct builder *builder, uint32_t index, struct tflite_tensor *tensor)
{
    struct file_cache *cache = &builder->cache;
    if (cache->graph != builder->graph_index) {
        cache->graph = builder->graph_index;
        cache->valid = 0;
    }
    bool keep = index < TENSOR_CACHE_SIZE;
    struct tflite_tensor *read = keep ? &cache->list[index] : tensor;
    if (!keep || (cache->valid >> index & 1) == 0) {
        if (!tflite_get_tensor(&builder->file, &builder->graph, index, read)) {
            return false;
        }
        cache->valid |= keep ? 1u << index : 0;
    }
    *tensor = *read;
    return true;
}

int build_get_channels(struct builder *builder, uint32_t index, const struct tflite_tensor *tensor,
                       struct tflite_channels *channels)
{
    if (tflite_get_channels(&builder->file, tensor, channels)) {
        return ETHOSU_MODEL_OK;
    }
    struct tflite_text name = tflite_get_name(&builder->file, tensor);
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "tensor %u (%.*s) of subgraph %u: %u scales and %u zero points, expected 0, 1 "
                     "or %u of each",
                     (unsigned)index, (int)name.length, name.bytes, (unsigned)builder->graph_index,
                     (unsigned)channels->count, (unsigned)channels->zero_points,
                     (unsigned)channels->size);
}

int build_find_tensor(struct builder *builder, uint32_t tensor, struct operand *operand)
{
    if (!build_get_tensor(builder, tensor, &operand->tensor)) {
        return build_bad_tensor(builder, tensor);
    }
    operand->data = (void *)(uintptr_t)operand->tensor.data; // constants are only read
    operand->offset = -1;
    if (operand->data != NULL) {
        return ETHOSU_MODEL_OK;
    }
    if (tensor == builder->fast_tensor) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u of subgraph %u: not only used as the NPU's fast scratch",
                         (unsigned)tensor, (unsigned)builder->graph_index);
    }
    operand->offset = tflite_get_offset(&builder->file, tensor);
    if (operand->offset < 0 || operand->tensor.size == 0) {
        struct tflite_text name = tflite_get_name(&builder->file, &operand->tensor);
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "tensor %u (%.*s) of subgraph %u: %u bytes of %s without an offset in "
                         "OfflineMemoryAllocation",
                         (unsigned)tensor, (int)name.length, name.bytes,
                         (unsigned)builder->graph_index, (unsigned)operand->tensor.size,
                         ethosu_model_type_name(operand->tensor.type));
    }
    return build_address(builder, (uint32_t)operand->offset, operand->tensor.size, &operand->data);
}

int build_find_operand(struct builder *builder, const struct fb_vector *list, uint32_t index,
                       struct operand *operand)
{
    if (index >= list->count) {
        return build_refuse(builder, ETHOSU_MODEL_BAD_FILE, "too few inputs or outputs");
    }
    return build_find_tensor(builder, fb_u32_at(&builder->file.fb, list, index), operand);
}

int build_get_operator(struct builder *builder, uint32_t index,
                       const struct tflite_operator_call **call)
{
    struct file_cache *cache = &builder->cache;
    *call = &cache->call;
    if (cache->call_index == index && cache->call_graph == builder->graph_index) {
        return ETHOSU_MODEL_OK;
    }
    cache->call_index = index;
    cache->call_graph = builder->graph_index;
    if (tflite_get_operator(&builder->file, &builder->graph, index, &cache->call)) {
        return ETHOSU_MODEL_OK;
    }
    cache->call_index = TFLITE_NO_OPERATOR;
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "operator %u of subgraph %u: malformed or truncated at byte %u of %u",
                     (unsigned)index, (unsigned)builder->graph_index,
                     (unsigned)builder->file.fb.bad_at, (unsigned)builder->file.fb.size);
}

int build_find_fast_tensor(struct builder *builder)
{
    struct flatbuffer *fb = &builder->file.fb;
    builder->fast_tensor = TFLITE_NO_TENSOR;
    for (uint32_t i = 0; i < builder->graph.operators.count; i++) {
        const struct tflite_operator_call *call;
        TRY(build_work(builder, WORK_OF_OPERATOR));
        TRY(build_get_operator(builder, i, &call));
        if (call->npu && call->inputs.count > NPU_INPUT_FAST_SCRATCH) {
            // All operators of a graph share both tensors.
            uint32_t fast = fb_u32_at(fb, &call->inputs, NPU_INPUT_FAST_SCRATCH);
            bool apart = fast != fb_u32_at(fb, &call->inputs, NPU_INPUT_SCRATCH);
            builder->fast_tensor = apart ? fast : TFLITE_NO_TENSOR;
            return ETHOSU_MODEL_OK;
        }
    }
    return ETHOSU_MODEL_OK;
}

int build_enter_graph(struct builder *builder, uint32_t index)
{
    builder->graph_index = index;
    if (!tflite_enter_subgraph(&builder->file, index, &builder->graph)) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "subgraph %u does not exist or is malformed", (unsigned)index);
    }
    return build_find_fast_tensor(builder);
}
