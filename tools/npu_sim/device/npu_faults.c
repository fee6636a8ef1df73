// SPDX-License-Identifier: MIT
/** Faults that a host can inject into an NPU, by name. */
#include "npu_faults.h"

#include <string.h>

/** Registers affected by faults. */
enum { STATUS = 0x004, CMD = 0x008, RESET = 0x00C, QSIZE = 0x020, PROT = 0x024 };

#define STATUS_RUNNING (1u << 0)
#define STATUS_RESETTING (1u << 3)
#define STATUS_END_REACHED (1u << 5)
#define STATUS_WATCHDOG (1u << 7)
#define STATUS_ECC (1u << 8)
#define STATUS_BRANCH (1u << 9) /**< Ethos-U85 */
#define CMD_POWER_Q (1u << 3)   /**< the NPU may be powered off */
#define PROT_PRIVILEGED 1u

/** More reads than a driver is likely to poll without a pause. */
#define SLOW_RESET_READS 1050u

static const char *const names[NPU_FAULT_COUNT] = {
    [NPU_FAULT_IRQ_LOST] = "irq-lost",           // completes, but its interrupt is not delivered
    [NPU_FAULT_IRQ_LATE] = "irq-late",           // the interrupt is delivered after the next reset
    [NPU_FAULT_IRQ_SPURIOUS] = "irq-spurious",   // a spurious interrupt before and after
    [NPU_FAULT_HANG] = "hang",                   // does not complete until withdrawn
    [NPU_FAULT_BUS_ERROR] = "bus-error",         // each memory access of a run fails
    [NPU_FAULT_PARSE_ERROR] = "parse-error",     // the command stream is cut short
    [NPU_FAULT_WATCHDOG] = "watchdog",           // STATUS.wd_fault
    [NPU_FAULT_ECC_ERROR] = "ecc-error",         // STATUS.ecc_fault
    [NPU_FAULT_BRANCH_ERROR] = "branch-error",   // STATUS.branch_fault
    [NPU_FAULT_POWER_REFUSED] = "power-refused", // stays off: reads 0 until power is released
    [NPU_FAULT_POWER_LOST] = "power-lost",       // registers are lost when power is released
    [NPU_FAULT_RESET_STUCK] = "reset-stuck",     // a reset, as at power-up, does not complete
    [NPU_FAULT_RESET_SLOW] = "reset-slow",       // a reset completes after 1050 reads of STATUS
    [NPU_FAULT_PROT_STUCK] = "prot-stuck",       // protection state does not follow RESET
    [NPU_FAULT_DEAD] = "dead",                   // reads return all ones; no write until then
};

bool npu_faults_inject(struct npu_faults *faults, const char *name, unsigned count)
{
    for (unsigned i = 0; i < NPU_FAULT_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            faults->due[i] = count;
            faults->run.hang = faults->run.hang && !(i == NPU_FAULT_HANG && count == 0);
            faults->dead_reported = faults->dead_reported && i != NPU_FAULT_DEAD;
            return true;
        }
    }
    return false;
}

void npu_faults_reset(struct npu_faults *faults)
{
    struct npu_faults cleared = {.happens = faults->happens,
                                 .context = faults->context,
                                 .dead_reported = faults->dead_reported};
    memcpy(cleared.due, faults->due, sizeof cleared.due);
    *faults = cleared;
}

/** Report that a fault happens; "dead" only once. */
static void report(struct npu_faults *faults, enum npu_fault fault)
{
    bool reported = fault == NPU_FAULT_DEAD && faults->dead_reported;
    if (faults->happens != NULL && !reported) {
        faults->happens(faults->context, names[fault]);
        faults->dead_reported = faults->dead_reported || fault == NPU_FAULT_DEAD;
    }
}

/** Is this fault due? Decrements its count. */
static bool is_due(struct npu_faults *faults, enum npu_fault fault)
{
    if (faults->due[fault] == 0) {
        return false;
    }
    faults->due[fault]--;
    report(faults, fault);
    return true;
}

uint32_t npu_faults_read(struct npu_faults *faults, npu_t *npu, uint32_t offset)
{
    if (is_due(faults, NPU_FAULT_DEAD)) {
        return UINT32_MAX;
    }
    if (faults->off) {
        return 0;
    }
    uint32_t value = npu_read(npu, offset);
    if (offset == STATUS) {
        value = (value | faults->status_set) & ~faults->status_clear;
        if (faults->resetting > 0 && --faults->resetting > 0) {
            value |= STATUS_RESETTING;
        }
    } else if (offset == PROT && is_due(faults, NPU_FAULT_PROT_STUCK)) {
        value ^= PROT_PRIVILEGED;
    }
    return value;
}

/** Power is requested by the write that clears CMD_POWER_Q. */
static void update_power(struct npu_faults *faults, uint32_t command)
{
    bool requested = !(command & CMD_POWER_Q);
    faults->off = requested &&
                  (faults->power_requested ? faults->off : is_due(faults, NPU_FAULT_POWER_REFUSED));
    faults->power_requested = requested;
}

static void begin_reset(struct npu_faults *faults)
{
    faults->status_set = is_due(faults, NPU_FAULT_RESET_STUCK) ? STATUS_RESETTING : 0;
    faults->status_clear = 0;
    faults->resetting = is_due(faults, NPU_FAULT_RESET_SLOW) ? SLOW_RESET_READS : 0;
    faults->power_requested = false;
}

enum npu_action npu_faults_write(struct npu_faults *faults, npu_t *npu, uint32_t offset,
                                 uint32_t value)
{
    if (offset == CMD) {
        update_power(faults, value);
    }
    if (faults->due[NPU_FAULT_DEAD] > 0) {
        report(faults, NPU_FAULT_DEAD);
        return NPU_ACTION_NONE;
    }
    if (faults->off) {
        return NPU_ACTION_NONE;
    }
    if (offset == RESET) {
        begin_reset(faults);
    } else if (offset == QSIZE && is_due(faults, NPU_FAULT_PARSE_ERROR)) {
        value = 4;
    }
    enum npu_action action = npu_write(npu, offset, value);
    if (offset == CMD && (value & CMD_POWER_Q) != 0 &&
        (npu_read(npu, STATUS) & STATUS_RUNNING) == 0 && is_due(faults, NPU_FAULT_POWER_LOST)) {
        npu_reset(npu);
    }
    return action;
}

void npu_faults_begin(struct npu_faults *faults)
{
    faults->run.spurious = is_due(faults, NPU_FAULT_IRQ_SPURIOUS);
    faults->run.hang = is_due(faults, NPU_FAULT_HANG);
    faults->run.bus_error = is_due(faults, NPU_FAULT_BUS_ERROR);
}

void npu_faults_end(struct npu_faults *faults)
{
    static const struct {
        enum npu_fault fault;
        uint32_t bit;
    } forced[] = {
        {NPU_FAULT_WATCHDOG, STATUS_WATCHDOG},
        {NPU_FAULT_ECC_ERROR, STATUS_ECC},
        {NPU_FAULT_BRANCH_ERROR, STATUS_BRANCH},
    };
    for (unsigned i = 0; i < sizeof forced / sizeof forced[0]; i++) {
        if (is_due(faults, forced[i].fault)) {
            faults->status_set |= forced[i].bit;
            faults->status_clear |= STATUS_END_REACHED;
        }
    }
}

bool npu_faults_deliver(struct npu_faults *faults)
{
    if (is_due(faults, NPU_FAULT_IRQ_LOST)) {
        return false;
    }
    bool late = is_due(faults, NPU_FAULT_IRQ_LATE);
    faults->irq_held = faults->irq_held || late;
    return !late;
}

bool npu_faults_release_held(struct npu_faults *faults, uint32_t offset)
{
    bool taken = faults->irq_held && offset == RESET;
    faults->irq_held = faults->irq_held && !taken;
    return taken;
}
