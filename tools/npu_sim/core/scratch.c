// SPDX-License-Identifier: MIT
/** Growable buffers, freed with the simulator. */
#include "core/scratch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/npu_internal.h"

/** Far more than real networks need, and little enough for the host. */
static const size_t scratch_limit = (size_t)1 << 28;

enum { ALIGNMENT = 64 };

void *npu_scratch_get(struct npu *npu, enum npu_buffer buffer, uint64_t count, size_t size)
{
    struct npu_scratch *scratch = &npu->scratch;
    if (count > scratch_limit / size) {
        npu_fail(npu, NPU_FAULT_PARSE, "needs %" PRIu64 " x %zu bytes of working memory, limit %zu",
                 count, size, scratch_limit);
        return NULL;
    }
    size_t bytes = ((size_t)count * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes > scratch->bytes[buffer] || scratch->memory[buffer] == NULL) {
        free(scratch->memory[buffer]);
        scratch->bytes[buffer] = bytes + bytes / 4 / ALIGNMENT * ALIGNMENT + ALIGNMENT;
        scratch->memory[buffer] = aligned_alloc(ALIGNMENT, scratch->bytes[buffer]);
        if (scratch->memory[buffer] == NULL) {
            npu_fail(npu, NPU_FAULT_PARSE, "no host memory for %zu bytes", scratch->bytes[buffer]);
            scratch->bytes[buffer] = 0;
        }
    }
    return scratch->memory[buffer];
}

void npu_scratch_free(struct npu_scratch *scratch)
{
    for (int i = 0; i < NPU_BUFFER_COUNT; i++) {
        free(scratch->memory[i]);
    }
}
