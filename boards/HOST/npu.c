// SPDX-License-Identifier: MIT
/**
 * One NPU: register accesses of the driver go to the functional model, its
 * command streams are executed here or on a thread, its interrupt line calls
 * the handler. Injected faults are put in between, where silicon would have them.
 */
#include "host_internal.h"

#include <ethosu_io.h>

/** Registers that faults touch. */
enum { STATUS = 0x004, CMD = 0x008, RESET = 0x00C, QSIZE = 0x020, PROT = 0x024 };

/** A line that no handler lowers is given up after so many calls. */
#define STORM_LIMIT 100

static void lock(struct NPU_REG *npu)
{
    pthread_mutex_lock(&npu->lock);
}

static void unlock(struct NPU_REG *npu)
{
    pthread_mutex_unlock(&npu->lock);
}

/* ---- interrupt ---- */

/** Answer of struct npu_bus; the NPU is locked. */
static void set_level(void *context, bool level)
{
    struct NPU_REG *npu = context;
    npu->level = level;
}

static void call_handler(struct NPU_REG *npu)
{
    lock(npu);
    void (*handler)(void *) = npu->handler;
    void *argument = npu->argument;
    unlock(npu);
    if (handler != NULL) {
        handler(argument);
    }
}

static bool line_is_high(struct NPU_REG *npu)
{
    lock(npu);
    bool level = npu->level && npu->handler != NULL;
    unlock(npu);
    return level;
}

/** Bring a completion to the handler, or not, as faults will have it. */
static void deliver(struct NPU_REG *npu)
{
    lock(npu);
    bool lost = npu->level && host_fault_due(npu, HOST_IRQ_LOST);
    bool late = npu->level && !lost && host_fault_due(npu, HOST_IRQ_LATE);
    npu->held_irq = npu->held_irq || late;
    unlock(npu);
    for (unsigned i = 0; i < STORM_LIMIT && !lost && !late && line_is_high(npu); i++) {
        call_handler(npu);
    }
}

void host_interrupt(unsigned index)
{
    call_handler(&host_npus[index]);
}

/* ---- execution ---- */

/** STATUS bits that a fault forces when a command stream has ended. */
static void force_faults(struct NPU_REG *npu)
{
    static const struct {
        enum host_fault fault;
        uint32_t bit;
    } forced[] = {
        {HOST_WATCHDOG, ETHOSUX_STATUS_WATCHDOG},
        {HOST_ECC_ERROR, ETHOSUX_STATUS_ECC},
    };
    for (unsigned i = 0; i < sizeof forced / sizeof forced[0]; i++) {
        if (host_fault_due(npu, forced[i].fault)) {
            npu->status_set |= forced[i].bit;
            npu->status_clear |= ETHOSUX_STATUS_END_REACHED;
        }
    }
}

/** Execute to the end; NPU_OP_IRQ interrupts on the way. */
static void execute(struct NPU_REG *npu)
{
    enum npu_outcome outcome;
    do {
        outcome = npu_execute(npu->model, 0);
        lock(npu);
        npu_finish(npu->model);
        if (outcome != NPU_OUTCOME_IRQ) {
            force_faults(npu);
            npu->working = false;
            pthread_cond_broadcast(&npu->changed);
        }
        unlock(npu);
        deliver(npu);
    } while (outcome == NPU_OUTCOME_IRQ);
}

static void *work(void *argument)
{
    struct NPU_REG *npu = argument;
    lock(npu);
    while (!npu->quit) {
        if (!npu->working) {
            pthread_cond_wait(&npu->changed, &npu->lock);
        } else if (npu->faults[HOST_HANG] > 0 && !npu->aborted) {
            pthread_cond_wait(&npu->changed, &npu->lock);
        } else {
            unlock(npu);
            execute(npu);
            lock(npu);
        }
    }
    unlock(npu);
    return NULL;
}

/** The driver has set the NPU going. */
static void begin(struct NPU_REG *npu)
{
    lock(npu);
    bool spurious = host_fault_due(npu, HOST_IRQ_SPURIOUS);
    bool hang = npu->faults[HOST_HANG] > 0;
    bool threaded = npu->threaded;
    npu->working = true;
    npu->aborted = false;
    pthread_cond_broadcast(&npu->changed);
    unlock(npu);

    if (spurious) {
        call_handler(npu);
    }
    if (!threaded && !hang) {
        execute(npu);
    }
    if (spurious) {
        call_handler(npu);
    }
}

/** The driver has reset or stopped the NPU while it was at work. */
static void end_early(struct NPU_REG *npu)
{
    npu_abort(npu->model);
    lock(npu);
    npu->aborted = true;
    (void)host_fault_due(npu, HOST_HANG);
    pthread_cond_broadcast(&npu->changed);
    bool threaded = npu->threaded;
    while (threaded && npu->working) {
        pthread_cond_wait(&npu->changed, &npu->lock);
    }
    unlock(npu);
    if (!threaded) {
        execute(npu);
    }
}

/* ---- registers ---- */

uint32_t ethosu_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    lock(npu);
    uint32_t value = npu_read(npu->model, offset);
    if (offset == STATUS) {
        value = (value | npu->status_set) & ~npu->status_clear;
    } else if (offset == PROT && host_fault_due(npu, HOST_PROT_STUCK)) {
        value ^= 1;
    }
    if (host_fault_due(npu, HOST_DEAD)) {
        value = UINT32_MAX;
    }
    unlock(npu);
    return value;
}

static void before_write(struct NPU_REG *npu, uint32_t offset, uint32_t *value)
{
    if (offset == RESET) {
        npu->status_set = host_fault_due(npu, HOST_RESET_STUCK) ? ETHOSUX_STATUS_RESETTING : 0;
        npu->status_clear = 0;
    } else if (offset == QSIZE && host_fault_due(npu, HOST_PARSE_ERROR)) {
        *value = 4;
    }
}

void ethosu_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    lock(npu);
    before_write(npu, offset, &value);
    enum npu_action action = npu_write(npu->model, offset, value);
    unlock(npu);

    if (action == NPU_ACTION_EXECUTE) {
        begin(npu);
    } else if (action == NPU_ACTION_ABORT) {
        end_early(npu);
    }

    lock(npu);
    bool late = offset == RESET && npu->held_irq;
    npu->held_irq = npu->held_irq && !late;
    unlock(npu);
    if (late) {
        call_handler(npu);
    }
}

/* ---- life ---- */

static uint8_t *map(void *context, uint64_t address, uint64_t length, bool write)
{
    struct NPU_REG *npu = context;
    lock(npu);
    bool fails = npu->faults[HOST_BUS_ERROR] > 0;
    unlock(npu);
    return fails ? NULL : host_map(NULL, address, length, write);
}

static void log_line(void *context, enum npu_log_level level, const char *message)
{
    (void)context;
    if (level != NPU_LOG_INFO) {
        host_print(message);
    }
}

bool host_npu_create(struct NPU_REG *npu, const char *config)
{
    struct npu_bus bus = {npu, map, set_level, log_line};
    npu->model = npu_create(config, &bus);
    return npu->model != NULL;
}

static void stop_worker(struct NPU_REG *npu)
{
    lock(npu);
    bool threaded = npu->threaded;
    npu->threaded = false;
    npu->quit = true;
    pthread_cond_broadcast(&npu->changed);
    unlock(npu);
    if (threaded) {
        pthread_join(npu->worker, NULL);
    }
}

void host_use_thread(unsigned index, bool on)
{
    struct NPU_REG *npu = &host_npus[index];
    stop_worker(npu);
    npu->quit = false;
    npu->threaded = on && pthread_create(&npu->worker, NULL, work, npu) == 0;
}

void host_npu_destroy(struct NPU_REG *npu)
{
    stop_worker(npu);
    npu_destroy(npu->model);
    npu->model = NULL;
}
