// SPDX-License-Identifier: MIT
/**
 * One NPU: register accesses of the driver go to the simulator, its
 * command streams are executed here or on a thread, its interrupt line calls
 * the handler. Injected faults are put in between, where silicon would have them.
 */
#include "ethosu_registers.h"
#include "sim_host_internal.h"

#include "sim_host_io.h"

/** Calls of the handler after which a line that stays high is left alone. */
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
    bool delivered = !npu->level || npu_faults_deliver(&npu->faults);
    unlock(npu);
    for (unsigned i = 0; i < STORM_LIMIT && delivered && line_is_high(npu); i++) {
        call_handler(npu);
    }
}

bool sim_host_inject(unsigned index, const char *fault, unsigned count)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    lock(npu);
    bool known = npu_faults_inject(&npu->faults, fault, count);
    unlock(npu);
    return known;
}

void sim_host_interrupt(unsigned index)
{
    call_handler(&sim_host_npus[index]);
}

/* ---- execution ---- */

/** Execute to the end; NPU_OP_IRQ interrupts on the way. */
static void execute(struct NPU_REG *npu)
{
    enum npu_outcome outcome;
    do {
        outcome = npu_execute(npu->sim, 0);
        lock(npu);
        npu_finish(npu->sim);
        if (outcome != NPU_OUTCOME_IRQ) {
            npu_faults_end(&npu->faults);
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

/** The driver has set the NPU going. */
static void begin(struct NPU_REG *npu)
{
    lock(npu);
    npu_faults_begin(&npu->faults);
    bool spurious = npu->faults.run.spurious;
    bool hang = npu->faults.run.hang;
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

/* ---- registers ---- */

uint32_t sim_host_read(volatile struct NPU_REG *reg, uint32_t offset)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    sim_host_cache_event();
    lock(npu);
    uint32_t value = npu_faults_read(&npu->faults, offset, npu_read(npu->sim, offset));
    unlock(npu);
    return value;
}

void sim_host_write(volatile struct NPU_REG *reg, uint32_t offset, uint32_t value)
{
    struct NPU_REG *npu = (struct NPU_REG *)(uintptr_t)reg;
    sim_host_cache_event();
    lock(npu);
    enum npu_action action = NPU_ACTION_NONE;
    if (npu_faults_write(&npu->faults, offset, &value)) {
        action = npu_write(npu->sim, offset, value);
    }
    unlock(npu);

    if (action == NPU_ACTION_EXECUTE) {
        begin(npu);
    } else if (action == NPU_ACTION_ABORT) {
        end_early(npu);
    }

    lock(npu);
    bool late = npu_faults_take_held(&npu->faults, offset);
    unlock(npu);
    if (late) {
        call_handler(npu);
    }
}

/* ---- life ---- */

static uint8_t *map(void *context, const struct npu_access *access)
{
    struct NPU_REG *npu = context;
    lock(npu);
    bool fails = npu->faults.run.bus_error;
    unlock(npu);
    return fails ? NULL : sim_host_map(access);
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

bool sim_host_npu_create(struct NPU_REG *npu, const char *config)
{
    struct npu_bus bus = {npu, map, set_level, log_line};
    npu->sim = npu_create(config, &bus);
    return npu->sim != NULL;
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

void sim_host_use_thread(unsigned index, bool on)
{
    struct NPU_REG *npu = &sim_host_npus[index];
    stop_worker(npu);
    npu->quit = false;
    npu->threaded = on && pthread_create(&npu->worker, NULL, work, npu) == 0;
}

void sim_host_npu_destroy(struct NPU_REG *npu)
{
    stop_worker(npu);
    npu_destroy(npu->sim);
    npu->sim = NULL;
}
