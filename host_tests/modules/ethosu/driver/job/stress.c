// SPDX-License-Identifier: MIT
/**
 * Threads share two NPUs, and reserve, run, cancel, time out and release at random. Each NPU runs
 * and interrupts on its own thread.
 *
 *     stress ROUNDS           each thread ends what it has started
 *     stress ROUNDS interfere    another thread cancels and releases what is not its own
 *     stress ROUNDS settings  another thread changes and reads all that needs no reservation
 *     stress ROUNDS deinit    another thread deinits the NPU below one that runs and one that waits
 */
#include "check.h"
#include "ethosu_ext.h"
#include "ethosu_pmu_funcs.h"
#include "sim_host.h"

#include <pthread.h>
#include <sched.h>

struct test *tests;

#define THREADS 4

static unsigned rounds;
static uint32_t *stream;
static uint8_t *source, *target[THREADS];
static unsigned begins, ends, succeeded, failed, holders[SIM_HOST_NPU_COUNT];

void ethosu_inference_begin(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
    __atomic_fetch_add(&begins, 1, __ATOMIC_RELAXED);
}

void ethosu_inference_end(struct ethosu_driver *drv, void *user_arg)
{
    (void)drv;
    (void)user_arg;
    __atomic_fetch_add(&ends, 1, __ATOMIC_RELAXED);
}

static unsigned pseudo_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 16;
}

/** Start a copy of 64 bytes and end it in one of four ways. */
static void infer(struct ethosu_driver *drv, unsigned thread, unsigned way)
{
    uint64_t bases[2] = {(uintptr_t)source, (uintptr_t)target[thread]};
    size_t sizes[2] = {64, 64};
    memset(target[thread], 0, 64);
    CHECK_EQ(ethosu_invoke_async(drv, stream, 60, bases, sizes, 2, NULL), 0);
    memset(bases, 0xEE, sizeof bases);
    int result = -1;
    if (way == 0) {
        CHECK_EQ(ethosu_ext_cancel(drv), 0);
    } else if (way == 1) {
        while ((result = ethosu_ext_wait(drv, 0)) == 1) {
        }
    } else if (way == 2) {
        result = ethosu_ext_wait(drv, 1); // may be too short
    } else if (way == 3) {
        result = ethosu_ext_wait(drv, ETHOSU_SEMAPHORE_WAIT_FOREVER); // the host may be busy
        CHECK_EQ(result, 0);
    } // else: release ends it
    if (result == 0) {
        CHECK(memcmp(target[thread], source, 64) == 0);
    }
    __atomic_fetch_add(result == 0 ? &succeeded : &failed, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    uint32_t state = thread + 1;
    for (unsigned i = 0; i < rounds; i++) {
        const char *config = pseudo_random(&state) % 2 ? NULL : "ethos-u55-128";
        struct ethosu_driver *drv = ethosu_ext_reserve(config, 60000, NULL);
        CHECK(drv != NULL);
        unsigned number = (drv->dev.config_register & 0xF) == 7; // which of the two
        CHECK_EQ(__atomic_fetch_add(&holders[number], 1, __ATOMIC_RELAXED), 0);
        for (unsigned n = pseudo_random(&state) % 3 + 1; n > 0; n--) {
            infer(drv, thread, n == 1 ? pseudo_random(&state) % 5 : pseudo_random(&state) % 4);
        }
        __atomic_fetch_sub(&holders[number], 1, __ATOMIC_RELAXED);
        ethosu_release_driver(drv);
    }
    return NULL;
}

/* ---- threads that interfere ---- */

static unsigned finished;

/** One inference while others cancel and release it: the result is either correct or an error. */
static int infer_shared(struct ethosu_driver *drv, unsigned thread, bool prepared)
{
    uint64_t bases[2] = {(uintptr_t)source, (uintptr_t)target[thread]};
    size_t sizes[2] = {64, 64};
    memset(target[thread], 0, 64);
    int result;
    if (prepared) {
        static _Thread_local struct ethosu_ext_program program;
        result = ethosu_ext_prepare(drv, &program, stream, 60, bases, sizes, 2, 0);
        if (result == 0 && thread % 2 == 0) {
            result = ethosu_ext_run(drv, &program, NULL, 600000);
        } else if (result == 0) {
            result = ethosu_ext_start(drv, &program, NULL);
            result = result == 0 ? ethosu_ext_wait_program(drv, &program, 600000) : result;
        }
    } else {
        result = ethosu_invoke_v3(drv, stream, 60, bases, sizes, 2, NULL);
    }
    if (result == 0) {
        CHECK(memcmp(target[thread], source, 64) == 0);
    } else { // the memory is this thread's again
        memset(target[thread], 0x5A, 64);
        for (unsigned i = 0; i < 64; i++) {
            sched_yield();
            CHECK_EQ(target[thread][i], 0x5A);
        }
    }
    return result;
}

static void *interfere(void *argument);
static void *(*other)(void *argument); // what another thread does, or NULL
static unsigned completed[2];          // calls of the callbacks below

/** Has the other thread had the effect for which it is there? */
static bool has_happened(void)
{
    return other == interfere ? __atomic_load_n(&failed, __ATOMIC_RELAXED) != 0
                              : __atomic_load_n(&completed[0], __ATOMIC_RELAXED) != 0 &&
                                    __atomic_load_n(&completed[1], __ATOMIC_RELAXED) != 0;
}

static void *work_shared(void *argument)
{
    unsigned thread = (unsigned)(uintptr_t)argument;
    uint32_t state = thread + 1;
    for (unsigned i = 0; i < rounds || !has_happened(); i++) {
        struct ethosu_driver *drv = ethosu_ext_reserve(NULL, 600000, NULL);
        CHECK(drv != NULL);
        int result = infer_shared(drv, thread, pseudo_random(&state) % 2);
        __atomic_fetch_add(result == 0 ? &succeeded : &failed, 1, __ATOMIC_RELAXED);
        ethosu_release_driver(drv);
    }
    __atomic_fetch_add(&finished, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void *interfere(void *argument)
{
    struct ethosu_driver *const *drivers = argument;
    uint32_t state = 99;
    while (__atomic_load_n(&finished, __ATOMIC_RELAXED) < THREADS) {
        struct ethosu_driver *drv = drivers[pseudo_random(&state) % SIM_HOST_NPU_COUNT];
        switch (pseudo_random(&state) % 4) {
        case 0:
            (void)ethosu_ext_cancel(drv);
            break;
        case 1:
            ethosu_release_driver(drv);
            break;
        case 2:
            (void)ethosu_soft_reset(drv);
            break;
        default:
            ethosu_ext_forget(drv);
            break;
        }
        for (unsigned n = pseudo_random(&state) % 8; n > 0; n--) {
            sched_yield();
        }
    }
    return NULL;
}

/* ---- a thread that changes settings ---- */

/** A callback that knows its argument: it never gets the one of another callback. */
static void on_done_0(struct ethosu_driver *drv, void *argument)
{
    (void)drv;
    CHECK(argument == &completed[0]);
    __atomic_fetch_add(&completed[0], 1, __ATOMIC_RELAXED);
}

static void on_done_1(struct ethosu_driver *drv, void *argument)
{
    (void)drv;
    CHECK(argument == &completed[1]);
    __atomic_fetch_add(&completed[1], 1, __ATOMIC_RELAXED);
}

static void change(struct ethosu_driver *drv, unsigned choice)
{
    bool flag = choice / 8 % 2;
    switch (choice % 8) {
    case 0:
        ethosu_ext_set_timeout(drv, flag ? 600000 : ETHOSU_SEMAPHORE_WAIT_FOREVER);
        break;
    case 1:
        ethosu_ext_set_verify(drv, flag);
        break;
    case 2:
        ethosu_ext_set_constant_payloads(drv, flag);
        break;
    case 3:
        ethosu_set_basep_cache_mask(drv, flag, 2u * flag);
        break;
    case 4:
        ethosu_ext_forget(drv);
        break;
    case 5:
        ethosu_ext_on_done(drv, NULL, NULL);
        break;
    default:
        ethosu_ext_on_done(drv, flag ? on_done_1 : on_done_0, &completed[flag]);
        break;
    }
}

static void look(struct ethosu_driver *drv)
{
    struct ethosu_ext_counts counts;
    struct ethosu_hw_info info;
    ethosu_ext_get_counts(drv, &counts);
    CHECK(counts.resets > 0 && counts.timeouts == 0);
    ethosu_get_hw_info(drv, &info);
    CHECK(ethosu_ext_last_error(drv) != NULL);
    CHECK(ethosu_ext_config(drv) != 0);
    CHECK(!ethosu_ext_has_fast_memory(drv) && ethosu_ext_fast_memory_size(drv) == 0);
    CHECK_EQ(ETHOSU_PMU_Get_NumEventCountersForDrv(drv), 4);
    (void)ethosu_ext_pmu_has_event(drv, 0);
    (void)ethosu_ext_is_running(drv);
    (void)ethosu_ext_last_program(drv);
    (void)ethosu_ext_next(drv);
}

static void *change_settings(void *argument)
{
    struct ethosu_driver *const *drivers = argument;
    uint32_t state = 99;
    while (__atomic_load_n(&finished, __ATOMIC_RELAXED) < THREADS) {
        struct ethosu_driver *drv = drivers[pseudo_random(&state) % SIM_HOST_NPU_COUNT];
        change(drv, pseudo_random(&state));
        look(drv);
        for (unsigned n = pseudo_random(&state) % 8; n > 0; n--) {
            sched_yield();
        }
    }
    return NULL;
}

/* ---- deinit ---- */

static struct ethosu_driver *only;

static void *run_below_deinit(void *argument)
{
    (void)argument;
    if (ethosu_ext_reserve_this(only, 0) == 0) {
        (void)infer_shared(only, 0, false);
    }
    return NULL;
}

static void *wait_below_deinit(void *argument)
{
    (void)argument;
    struct ethosu_ext_fault fault = {0};
    struct ethosu_driver *drv = ethosu_ext_reserve(NULL, 600000, &fault);
    CHECK(drv != NULL || fault.code == ETHOSU_EXT_E_NONE_SUCH);
    return NULL;
}

static void deinit_below_others(struct ethosu_driver *drv)
{
    uint32_t state = 7;
    only = drv;
    for (unsigned i = 0; i < rounds; i++) {
        pthread_t runs, waits;
        CHECK_EQ(pthread_create(&runs, NULL, run_below_deinit, NULL), 0);
        CHECK_EQ(pthread_create(&waits, NULL, wait_below_deinit, NULL), 0);
        for (unsigned n = pseudo_random(&state) % 64; n > 0; n--) {
            sched_yield();
        }
        void *registers = (void *)(uintptr_t)drv->dev.reg;
        ethosu_deinit(drv);
        CHECK_EQ(__atomic_load_n(&drv->job.state, __ATOMIC_SEQ_CST), ETHOSU_JOB_IDLE);
        pthread_join(runs, NULL);
        pthread_join(waits, NULL);
        sim_host_use_thread(0, false); // the interrupt handler has returned, too
        CHECK_EQ(ethosu_init(drv, registers, NULL, 0, 1, 1), 0);
        sim_host_use_thread(0, true);
    }
}

static void run_threads(struct ethosu_driver **drivers)
{
    void *(*run)(void *) = other != NULL ? work_shared : work;
    pthread_t threads[THREADS + 1];
    for (unsigned i = 0; i < THREADS; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i), 0);
    }
    if (other != NULL) {
        CHECK_EQ(pthread_create(&threads[THREADS], NULL, other, drivers), 0);
    }
    for (unsigned i = 0; i < THREADS + (other != NULL); i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK(succeeded > 0 && (failed == 0) == (other == change_settings));
}

int main(int argc, char **argv)
{
    static const uint32_t words[15] = {
        0x31504F43u, 5,           5,       0x000B0002u, // COP1, 11 words of stream
        0x00000130u, 0x00010131u, 0x4030u, 0,           0x4031u,     0,
        0x4032u,     64,          0x010u,  0x011u,      0xFFFF0000u,
    };
    struct ethosu_driver *drivers[SIM_HOST_NPU_COUNT];
    rounds = argc >= 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    const char *mode = argc == 3 ? argv[2] : "";
    drivers[0] = sim_host_open(0, "ethos-u55-256");
    CHECK(drivers[0] != NULL);
    stream = sim_host_alloc(sizeof words);
    memcpy(stream, words, sizeof words);
    source = sim_host_alloc(64);
    for (unsigned i = 0; i < 64; i++) {
        source[i] = (uint8_t)(i + 1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        target[i] = sim_host_alloc(64);
    }
    sim_host_use_thread(0, true);
    if (strcmp(mode, "deinit") == 0) {
        deinit_below_others(drivers[0]);
    } else {
        drivers[1] = sim_host_open(1, "ethos-u55-128");
        CHECK(drivers[1] != NULL);
        sim_host_use_thread(1, true);
        other = strcmp(mode, "interfere") == 0  ? interfere
                : strcmp(mode, "settings") == 0 ? change_settings
                                                : NULL;
        run_threads(drivers);
        CHECK(other == NULL || drivers[0]->timeouts + drivers[1]->timeouts == 0);
        sim_host_close(1);
    }
    sim_host_close(0);
    CHECK_EQ(begins, ends);
    printf("%u succeeded, %u did not\n", succeeded, failed);
    return 0;
}
