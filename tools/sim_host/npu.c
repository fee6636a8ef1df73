// SPDX-License-Identifier: MIT
/**
 * One NPU. The driver's register accesses go to the simulator, command streams are executed here or
 * on a thread, and the interrupt line calls the handler. Faults are injected in between, where they
 * would occur in silicon.
 */
#include "driver/base/ethosu_registers.h"
#include "sim_host_internal.h"

#include "sim_host_io.h"

#include <string.h>

#define NPU_INITIAL(number) \
    {.index = (number), .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER}

struct NPU_REG sim_host_npus[SIM_HOST_NPU_COUNT] = {NPU_INITIAL(0), NPU_INITIAL(1)};

/** Handler calls after which a line that stays high is ignored. */
#define STORM_LIMIT 100

#define REGION_COUNT 8u

static void lock(struct NPU_REG *npu)
{
    pthread_mutex_lock(&npu->lock);
}

static void unlock(struct NPU_REG *npu)
{
    pthread_mutex_unlock(&npu->lock);
}

/* ---- interrupt ---- */

/** Callback of struct npu_bus; the NPU is locked. */
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

/** Deliver the completion interrupt unless an injected fault suppresses it. */
static void deliver(struct NPU_REG *npu)
{
    lock(npu);
    bool delivered = !npu->level || npu_faults_deliver(&npu->faults);
    unlock(npu);
    for (unsigned i = 0; i < STORM_LIMIT && delivered && line_is_high(npu); i++) {
        call_handler(npu);
    }
}

void sim_host_interrupt(unsigned index)
{
    call_handler(&sim_host_npus[index]);
}

/* ---- execution ---- */

/** Execute at most `operations` operations (0: no limit), or up to an interrupt. */
static enum npu_outcome execute_part(struct NPU_REG *npu, unsigned operations)
{
    enum npu_outcome outcome = npu_execute(npu->sim, operations);
    if (outcome == NPU_OUTCOME_STEPPED) {
        return outcome;
    }
    lock(npu);
    npu_finish(npu->sim);
    if (outcome != NPU_OUTCOME_IRQ) {
        npu_faults_end(&npu->faults);
        npu->working = false;
        pthread_cond_broadcast(&npu->changed);
    }
    unlock(npu);
    deliver(npu);
    return outcome;
}

/** Execute to the end, raising an interrupt for each NPU_OP_IRQ. */
static void execute(struct NPU_REG *npu)
{
    while (execute_part(npu, 0) == NPU_OUTCOME_IRQ) {
    }
}

bool sim_host_step(void)
{
    bool any = false;
    for (unsigned i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        struct NPU_REG *npu = &sim_host_npus[i];
        if (npu->stepped && npu->working && !npu->faults.run.hang) {
            (void)execute_part(npu, 1);
            any = true;
        }
    }
    return any;
}

static void *work(void *argument)
{
    struct NPU_REG *npu = argument;
    lock(npu);
    while (!npu->quit) {
        if (!npu->working) {
            pthread_cond_wait(&npu->changed, &npu->lock);
        } else if (npu->faults.run.hang && !npu->aborted) {
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

/** The driver has started the NPU. */
static void begin(struct NPU_REG *npu)
{
    lock(npu);
    npu_faults_begin(&npu->faults);
    bool spurious = npu->faults.run.spurious;
    bool hang = npu->faults.run.hang;
    bool waits = npu->threaded || npu->stepped;
    npu->working = true;
    npu->aborted = false;
    pthread_cond_broadcast(&npu->changed);
    unlock(npu);

    if (spurious) {
        call_handler(npu);
    }
    if (!waits && !hang) {
        execute(npu);
    }
    if (spurious) {
        call_handler(npu);
    }
}

/** The driver has reset or stopped the running NPU. */
static void abort_run(struct NPU_REG *npu)
{
    npu_abort(npu->sim);
    lock(npu);
    npu->aborted = true;
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

bool sim_host_inject(unsigned index, const char *fault, unsigned count)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    lock(npu);
    bool hung = npu->working && npu->faults.run.hang;
    bool known = npu_faults_inject(&npu->faults, fault, count);
    bool resumes = hung && !npu->faults.run.hang && !npu->threaded;
    pthread_cond_broadcast(&npu->changed);
    unlock(npu);
    if (resumes) {
        execute(npu);
    }
    return known;
}

/* ---- registers ---- */

static void (*watch)(const struct sim_host_access *access);

void sim_host_watch(void (*called)(const struct sim_host_access *access))
{
    watch = called;
}

static void notify_watch(const struct NPU_REG *npu, uint32_t offset, uint32_t value, bool write)
{
    sim_host_cache_event();
    if (watch != NULL) {
        watch(&(struct sim_host_access){npu->index, offset, value, write});
    }
}

/** Without an NPU registers read as 0 and ignore writes. */
uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    notify_watch(npu, offset, 0, false);
    lock(npu);
    uint32_t value = npu->sim == NULL ? 0 : npu_faults_read(&npu->faults, npu->sim, offset);
    unlock(npu);
    return value;
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    notify_watch(npu, offset, value, true);
    lock(npu);
    enum npu_action action = npu->sim == NULL
                                 ? NPU_ACTION_NONE
                                 : npu_faults_write(&npu->faults, npu->sim, offset, value);
    unlock(npu);

    if (action == NPU_ACTION_EXECUTE) {
        begin(npu);
    } else if (action == NPU_ACTION_ABORT) {
        abort_run(npu);
    }

    lock(npu);
    bool late = npu_faults_release_held(&npu->faults, offset);
    unlock(npu);
    if (late) {
        call_handler(npu);
    }
}

/* ---- life ---- */

static uint8_t *map(void *context, const struct npu_access *access)
{
    const struct NPU_REG *npu = context; /* the fault does not change during a run */
    return npu->faults.run.bus_error ? NULL : sim_host_map(access);
}

const char *const *sim_host_configs(void)
{
    return npu_configs();
}

uint64_t sim_host_cycles(unsigned index)
{
    return npu_cycles(sim_host_npus[index].sim);
}

bool sim_host_memories(unsigned index, const struct npu_memory *table, unsigned count)
{
    return index < SIM_HOST_NPU_COUNT && sim_host_npus[index].sim != NULL &&
           npu_set_memories(sim_host_npus[index].sim, table, count);
}

void sim_host_observe(unsigned index, npu_observer_t observer, void *context)
{
    npu_observe(sim_host_npus[index].sim, observer, context);
}

const void *sim_host_region(unsigned index, unsigned region, uint64_t offset, uint64_t size)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    uint32_t basep = NPU_BASEP0 + 8 * region;
    lock(npu);
    uint64_t base = npu_read(npu->sim, basep) | (uint64_t)npu_read(npu->sim, basep + 4) << 32;
    unlock(npu);
    const struct npu_access access = {.address = base + offset, .length = size, .secure = true};
    return region < REGION_COUNT ? sim_host_map(&access) : NULL;
}

static void log_line(void *context, const char *message)
{
    (void)context;
    sim_host_print(message);
}

bool sim_host_create(unsigned index, const char *config)
{
    struct npu_bus bus = {&sim_host_npus[index], map, set_level, log_line};
    sim_host_destroy(index);
    sim_host_npus[index].sim = npu_create(config, &bus);
    return sim_host_npus[index].sim != NULL;
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

bool sim_host_time_is_real(void)
{
    bool real = false;
    for (unsigned i = 0; i < SIM_HOST_NPU_COUNT; i++) {
        real = real || sim_host_npus[i].threaded;
    }
    return real;
}

void sim_host_use_thread(unsigned index, bool on)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    stop_worker(npu);
    npu->quit = false;
    npu->threaded = on && pthread_create(&npu->worker, NULL, work, npu) == 0;
}

void sim_host_destroy(unsigned index)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    stop_worker(npu);
    npu_destroy(npu->sim);
    npu->sim = NULL;
    memset(&npu->faults, 0, sizeof npu->faults);
}

void sim_host_connect(unsigned index, void (*handler)(void *argument), void *argument)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    lock(npu);
    npu->handler = handler;
    npu->argument = argument;
    unlock(npu);
}
