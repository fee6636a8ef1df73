// SPDX-License-Identifier: MIT
/**
 * The NPU device without QEMU, for ThreadSanitizer. This file implements the QEMU functions that
 * the device uses, with the same rules for locks and threads. A "CPU" thread starts, polls, stops
 * and resets runs in random order while a "main loop" thread delivers completions. Exit code 0: no
 * error.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/callbacks.h"
#include "base/message.h"
#include "base/qemu_api.h"
#include "base/watch.h"
#include "board/board.h"
#include "board/machine.h"
#include "board/registers.h"
#include "cpu/cache.h"
#include "memory/board_power.h"
#include "npu/npu_device.h"

/* --- QEMU: the big lock and a main loop for bottom halves ------------------ */

#define MAX_PENDING 64

static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static struct bottom_half {
    void (*callback)(void *);
    void *opaque;
} queue[MAX_PENDING];
static int pending;
static atomic_int irq_level;

static void fail(const char *what)
{
    fprintf(stderr, "broken: %s\n", what);
    exit(1);
}

const struct board *board(void)
{
    static const struct board one = {.security = BOARD_SECURITY_ANY};
    return &one;
}

uint32_t registers_load(uint32_t address)
{
    (void)address;
    return 0; // no gate
}

int64_t board_power_settle(void)
{
    return 0; // no memory's clock stops
}

void aio_bh_schedule_oneshot_full(AioContext *context, void (*callback)(void *), void *opaque,
                                  const char *name)
{
    (void)context;
    (void)name;
    pthread_mutex_lock(&queue_lock);
    if (pending == MAX_PENDING) {
        fail("completions pile up");
    }
    queue[pending++] = (struct bottom_half){callback, opaque};
    pthread_cond_signal(&queue_filled);
    pthread_mutex_unlock(&queue_lock);
}

static void *main_loop(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&queue_lock);
        while (pending == 0) {
            pthread_cond_wait(&queue_filled, &queue_lock);
        }
        struct bottom_half next = queue[--pending];
        pthread_mutex_unlock(&queue_lock);
        pthread_mutex_lock(&big_lock);
        next.callback(next.opaque);
        pthread_mutex_unlock(&big_lock);
    }
    return unused;
}

AioContext *qemu_get_aio_context(void)
{
    return NULL;
}

bool all_cpu_threads_idle(void)
{
    return false;
}

void qemu_set_irq(qemu_irq irq, int level)
{
    (void)irq;
    atomic_store(&irq_level, level);
}

int64_t qemu_clock_get_ns(enum qemu_clock clock)
{
    (void)clock;
    return 0;
}

void timer_init_full(QEMUTimer *timer, void *group, enum qemu_clock clock, int scale,
                     int attributes, void (*callback)(void *), void *opaque)
{
    (void)timer, (void)group, (void)clock, (void)scale, (void)attributes;
    (void)callback, (void)opaque;
}

void timer_mod(QEMUTimer *timer, int64_t expiry)
{
    (void)timer, (void)expiry;
    fail("a timer without a modelled clock");
}

void timer_del(QEMUTimer *timer)
{
    (void)timer;
}

/* --- The board ------------------------------------------------------------- */

#define STREAM_WORDS 20000u
#define SET_IFM_PAD_TOP 0x100u
#define STOP_COMMAND 0xFFFF0000u

static uint32_t stream[STREAM_WORDS];
static struct machine_window window;
static void *window_device;

void cache_event(void)
{
}

void cache_barrier(void)
{
}

uint8_t *cache_map(enum guest_memory_master master, uint64_t address, uint64_t length, bool write)
{
    (void)master;
    bool inside = address <= sizeof stream && length <= sizeof stream - address;
    return inside && !write ? (uint8_t *)stream + address : NULL;
}

void machine_map(const struct machine_window *mapped, void *device)
{
    window = *mapped;
    window_device = device;
}

qemu_irq machine_irq(unsigned number)
{
    (void)number;
    return NULL;
}

uint64_t callbacks_counted(void)
{
    static atomic_uint_fast64_t count;
    return ++count;
}

void watch_npu(const char *npu, const char *what)
{
    (void)npu;
    (void)what;
}

/* --- The CPU --------------------------------------------------------------- */

enum { STATUS = 0x04, CMD = 0x08, RESET = 0x0C, QBASE = 0x10, QSIZE = 0x20 };
enum { RUNNING = 0x1, IRQ_RAISED = 0x2, END_REACHED = 0x20 };
enum { RUN = 0xD, CLEAR_IRQ = 0xE, STOP_REQUEST = 0x1C };

static uint32_t npu_get(uint32_t offset)
{
    pthread_mutex_lock(&big_lock);
    uint32_t value = window.read(window_device, offset);
    pthread_mutex_unlock(&big_lock);
    return value;
}

static void npu_put(uint32_t offset, uint32_t value)
{
    pthread_mutex_lock(&big_lock);
    window.write(window_device, offset, value);
    pthread_mutex_unlock(&big_lock);
}

static void start(void)
{
    npu_put(QBASE, 0);
    npu_put(QSIZE, sizeof stream);
    npu_put(CMD, RUN);
}

static void wait_for_end(void)
{
    while (!atomic_load(&irq_level)) {
        usleep(10);
    }
    uint32_t status = npu_get(STATUS);
    if ((status & (RUNNING | IRQ_RAISED | END_REACHED)) != (IRQ_RAISED | END_REACHED)) {
        fail("a run that nobody ended did not reach its end");
    }
    npu_put(CMD, CLEAR_IRQ);
    if (atomic_load(&irq_level)) {
        fail("the interrupt was not acknowledged");
    }
}

static void soft_reset(void)
{
    npu_put(RESET, 0);
    if (npu_get(STATUS) != 0 || atomic_load(&irq_level)) {
        fail("something is left after a soft reset");
    }
}

static void request_stop(void)
{
    npu_put(CMD, STOP_REQUEST);
    if (npu_get(STATUS) & RUNNING) {
        fail("still running after a stop request");
    }
    soft_reset();
}

static void reset_machine(struct npu_device *device)
{
    pthread_mutex_lock(&big_lock);
    npu_device_reset(device);
    pthread_mutex_unlock(&big_lock);
    if (npu_get(STATUS) != 0 || atomic_load(&irq_level)) {
        fail("something is left after a reset");
    }
}

static void one_turn(struct npu_device *device, int choice)
{
    start();
    if (choice & 4) {
        usleep((useconds_t)(choice * 7));
    }
    switch (choice & 3) {
    case 0:
        wait_for_end();
        break;
    case 1:
        soft_reset();
        break;
    case 2:
        request_stop();
        break;
    default:
        reset_machine(device);
        break;
    }
}

int main(int count, char **arguments)
{
    static const struct npu_slot slot = {.argument = "npu", .base = 0, .irq = 56};
    int turns = count > 1 ? atoi(arguments[1]) : 1000;
    message_set_level(MESSAGE_NONE);
    for (uint32_t i = 0; i < STREAM_WORDS - 1; i++) {
        stream[i] = SET_IFM_PAD_TOP;
    }
    stream[STREAM_WORDS - 1] = STOP_COMMAND;
    pthread_t thread;
    pthread_create(&thread, NULL, main_loop, NULL);
    struct npu_device *device =
        npu_device_create(&slot, "ethos-u55-128", (struct npu_timing){.megahertz = 0});
    unsigned seed = 1;
    for (int turn = 0; turn < turns; turn++) {
        one_turn(device, rand_r(&seed) % 32);
    }
    pthread_mutex_lock(&big_lock);
    npu_device_stop(device);
    pthread_mutex_unlock(&big_lock);
    printf("%d turns\n", turns);
    return 0;
}
