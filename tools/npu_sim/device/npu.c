// SPDX-License-Identifier: MIT
/** Create, destroy and reset an NPU. */
#include <stdlib.h>

#include "core/npu_internal.h"
#include "device/device.h"
#include "time/memo.h"
#include "weights/weight_cache.h"

npu_t *npu_create(const char *config, const struct npu_bus *bus)
{
    const struct npu_product *product = npu_product_find(config);
    if (product == NULL) {
        return NULL;
    }
    struct npu *npu = calloc(1, sizeof *npu);
    if (npu != NULL) {
        npu->product = product;
        npu_command_index_fill(&npu->command_index, product->family->index);
        npu->bus = *bus;
        npu_registers_reset(npu);
    }
    return npu;
}

void npu_destroy(npu_t *npu)
{
    if (npu != NULL) {
        npu_scratch_free(&npu->scratch);
        npu_cache_free(&npu->weights);
        npu_memo_free(npu);
        free(npu);
    }
}

uint32_t npu_registers_size(const npu_t *npu)
{
    return npu->product->family->window_bytes;
}

void npu_reset(npu_t *npu)
{
    npu->running = false;
    npu->reset_pending = false;
    npu_registers_reset(npu);
    npu_update_irq(npu);
}

void npu_abort(npu_t *npu)
{
    atomic_store(&npu->abort, true);
}

uint64_t npu_cycles(const npu_t *npu)
{
    return npu->run.cycles;
}

void npu_observe(npu_t *npu, npu_observer_t observer, void *context)
{
    npu->observer = observer;
    npu->observer_context = context;
}
