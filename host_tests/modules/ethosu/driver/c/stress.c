// SPDX-License-Identifier: MIT
/**
 * Threads that share two NPUs, each of which works and interrupts on a thread
 * of its own: reserve, run, cancel, time out, release, at random.
 *
 *     stress ROUNDS
 */
#include "check.h"
#include "ethosu_ext.h"
#include "sim_host.h"

#include <pthread.h>

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

int main(int argc, char **argv)
{
    static const uint32_t words[15] = {
        0x31504F43u, 5,           5,       0x000B0002u, // COP1, 11 words of stream
        0x00000130u, 0x00010131u, 0x4030u, 0,           0x4031u,     0,
        0x4032u,     64,          0x010u,  0x011u,      0xFFFF0000u,
    };
    pthread_t threads[THREADS];
    rounds = argc == 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    CHECK(sim_host_open(0, "ethos-u55-256") != NULL);
    CHECK(sim_host_open(1, "ethos-u55-128") != NULL);
    sim_host_use_thread(0, true);
    sim_host_use_thread(1, true);
    stream = sim_host_alloc(sizeof words);
    memcpy(stream, words, sizeof words);
    source = sim_host_alloc(64);
    for (unsigned i = 0; i < 64; i++) {
        source[i] = (uint8_t)(i + 1);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        target[i] = sim_host_alloc(64);
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    sim_host_close(0);
    sim_host_close(1);
    CHECK_EQ(begins, ends);
    CHECK(succeeded > 0 && failed > 0);
    printf("%u succeeded, %u did not\n", succeeded, failed);
    return 0;
}
