// SPDX-License-Identifier: MIT
/** Log, and faults of a run. */
#include <stdarg.h>
#include <stdio.h>

#include "core/npu_internal.h"

enum { LOG_LINE = 512 };

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
