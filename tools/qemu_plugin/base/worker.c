// SPDX-License-Identifier: MIT
/** A thread that executes one work item at a time. */
#include "base/worker.h"

#include <signal.h>

#include "base/message.h"
#include "base/qemu_api.h"

static void set_state(struct worker *worker, enum worker_state state)
{
    pthread_mutex_lock(&worker->lock);
    worker->state = state;
    pthread_cond_broadcast(&worker->changed);
    pthread_mutex_unlock(&worker->lock);
}

/**
 * Runs on the main loop. After a join this call is still pending; the worker is then idle or busy
 * with the next item, and there is nothing to do.
 */
static void notice_end(void *opaque)
{
    struct worker *worker = opaque;
    pthread_mutex_lock(&worker->lock);
    bool done = worker->state == WORKER_DONE;
    if (done) {
        worker->state = WORKER_IDLE;
    }
    pthread_mutex_unlock(&worker->lock);
    if (done) {
        worker->done(worker->context);
    }
}

static void *run(void *opaque)
{
    struct worker *worker = opaque;
    for (;;) {
        pthread_mutex_lock(&worker->lock);
        while (worker->state != WORKER_BUSY) {
            pthread_cond_wait(&worker->changed, &worker->lock);
        }
        pthread_mutex_unlock(&worker->lock);
        worker->work(worker->context);
        set_state(worker, WORKER_DONE);
        aio_bh_schedule_oneshot_full(qemu_get_aio_context(), notice_end, worker, "ethosu-worker");
    }
    return NULL;
}

void worker_init(struct worker *worker, void (*work)(void *), void (*done)(void *), void *context)
{
    *worker = (struct worker){.work = work, .done = done, .context = context};
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->changed, NULL);
    // Only QEMU's main thread handles signals; the new thread inherits a full mask.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int error = pthread_create(&thread, NULL, run, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        fatal("no host thread for the NPU");
    }
    pthread_detach(thread);
}

void worker_start(struct worker *worker)
{
    set_state(worker, WORKER_BUSY);
}

void worker_join(struct worker *worker)
{
    pthread_mutex_lock(&worker->lock);
    while (worker->state == WORKER_BUSY) {
        pthread_cond_wait(&worker->changed, &worker->lock);
    }
    worker->state = WORKER_IDLE;
    pthread_mutex_unlock(&worker->lock);
}
