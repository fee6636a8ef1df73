// SPDX-License-Identifier: MIT
/** Faults that a test can make the NPU have, by name. */
#include "host_internal.h"

#include <string.h>

static const char *const names[HOST_FAULT_COUNT] = {
    [HOST_IRQ_LOST] = "irq-lost",         // completes, but its interrupt does not come
    [HOST_IRQ_LATE] = "irq-late",         // the interrupt comes after the next reset
    [HOST_IRQ_SPURIOUS] = "irq-spurious", // one interrupt too many before and after
    [HOST_HANG] = "hang",                 // never completes
    [HOST_BUS_ERROR] = "bus-error",       // each memory access fails
    [HOST_PARSE_ERROR] = "parse-error",   // the command stream is cut short
    [HOST_WATCHDOG] = "watchdog",         // STATUS.wd_fault
    [HOST_ECC_ERROR] = "ecc-error",       // STATUS.ecc_fault
    [HOST_RESET_STUCK] = "reset-stuck",   // a reset, as at power-up, does not end
    [HOST_PROT_STUCK] = "prot-stuck",     // protection state does not follow RESET
    [HOST_DEAD] = "dead",                 // a register read gives all ones
};

bool host_inject(unsigned index, const char *fault, unsigned count)
{
    for (unsigned i = 0; i < HOST_FAULT_COUNT; i++) {
        if (strcmp(names[i], fault) == 0) {
            struct NPU_REG *npu = &host_npus[index];
            pthread_mutex_lock(&npu->lock);
            npu->faults[i] = count;
            pthread_mutex_unlock(&npu->lock);
            return true;
        }
    }
    return false;
}

bool host_fault_due(struct NPU_REG *npu, enum host_fault fault)
{
    if (npu->faults[fault] == 0) {
        return false;
    }
    npu->faults[fault]--;
    return true;
}
