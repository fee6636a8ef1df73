// SPDX-License-Identifier: MIT
/**
 * A thread that executes one work item at a time while the guest runs.
 *
 * The functions here belong to QEMU's big lock. The work itself runs without it and must never wait
 * for it, so that a holder of the lock may join.
 */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdbool.h>

enum worker_state {
    WORKER_IDLE,
    WORKER_BUSY, /**< work requested or in progress */
    WORKER_DONE, /**< the work has ended, but this has not been noticed yet */
};

struct worker {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum worker_state state;     /**< under `lock` */
    void (*work)(void *context); /**< on the worker's thread */
    void (*done)(void *context); /**< on the main loop, unless joined before */
    void *context;
};

/** Start the thread, idle; it ends with the process. */
void worker_init(struct worker *worker, void (*work)(void *), void (*done)(void *), void *context);

/** Execute the work once. The worker must be idle. */
void worker_start(struct worker *worker);

/** Wait until the work has ended, and make the worker idle without calling done(). */
void worker_join(struct worker *worker);

#endif
