// SPDX-License-Identifier: MIT
/** Create, destroy and reset an NPU; log and faults. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "time/memo.h"
#include "core/npu_internal.h"

enum { LOG_LINE = 512 };

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

static void log_line(struct npu *npu, const char *line)
{
    if (npu->bus.log != NULL) {
        npu->bus.log(npu->bus.context, line);
    }
}

void npu_log(struct npu *npu, const char *format, ...)
{
    char line[LOG_LINE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    log_line(npu, line);
}

bool npu_fail(struct npu *npu, enum npu_run_fault fault, const char *format, ...)
{
    struct npu_run *run = &npu->run;
    if (run->fault != NPU_FAULT_NONE) {
        return false;
    }
    run->fault = fault;
    char line[LOG_LINE];
    const char *name = run->row < 0 ? "command stream" : npu_command_table[run->row].name;
    int used = snprintf(line, sizeof line, "command %u at 0x%x: %s ", run->command,
                        (unsigned)run->offset, name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + used, sizeof line - (size_t)used, format, arguments);
    va_end(arguments);
    log_line(npu, line);
    return false;
}

bool npu_should_abort(struct npu *npu)
{
    if (!atomic_load_explicit(&npu->abort, memory_order_relaxed)) {
        return false;
    }
    if (npu->run.fault == NPU_FAULT_NONE) {
        npu->run.fault = NPU_FAULT_ABORTED;
    }
    return true;
}
