// SPDX-License-Identifier: MIT
/**
 * The driver's semaphore under MicroPython: a wait that sleeps in WFI, runs
 * pending callbacks, and ends at Ctrl-C. An exception must not unwind the
 * driver's frames, so it is saved, and the wait ends as if timed out. The driver
 * stops the NPU and cleans up, then binding_raise_pending() raises it.
 */
#include "binding/call/events.h"

#include "binding/call/raise.h"
#include "ethosu_board.h"
#include "driver/base/ethosu_build.h"
#include "py/runtime.h"

/** One for each NPU, and one for a caller waiting for an NPU. */
#define SEMAPHORE_COUNT (BINDING_MAX_NPUS + 1)

struct semaphore {
    volatile uint32_t count;
    bool used;
};

static struct semaphore semaphores[SEMAPHORE_COUNT];

void *ethosu_semaphore_create(void)
{
    for (size_t i = 0; i < SEMAPHORE_COUNT; i++) {
        if (!semaphores[i].used) {
            semaphores[i] = (struct semaphore){.count = 0, .used = true};
            return &semaphores[i];
        }
    }
    return NULL;
}

void ethosu_semaphore_destroy(void *sem)
{
    ((struct semaphore *)sem)->used = false;
}

int ethosu_semaphore_give(void *sem)
{
    __atomic_fetch_add(&((struct semaphore *)sem)->count, 1, __ATOMIC_RELEASE);
    return 0;
}

/** Run callbacks; false when one raised an exception, which is kept. */
static RARE bool run_pending(void)
{
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        mp_handle_pending(true);
        nlr_pop();
        return true;
    }
    binding_keep_exception(MP_OBJ_FROM_PTR(nlr.ret_val));
    return false;
}

bool semaphore_run_events(void)
{
    // A cheap check before each WFI: nlr_push() is needed only when there is work.
    bool pending = MP_STATE_VM(sched_state) == MP_SCHED_PENDING ||
                   MP_STATE_THREAD(mp_pending_exception) != MP_OBJ_NULL;
    return !pending || run_pending();
}

/** Wait after the first wake, with the clock. @return  was it given in time? */
static RARE bool wait_longer(const struct semaphore *semaphore, uint64_t timeout)
{
    uint32_t last_ms = ethosu_ext_board_ticks_ms();
    while (__atomic_load_n(&semaphore->count, __ATOMIC_ACQUIRE) == 0) {
        if (timeout == 0 || !semaphore_run_events()) {
            return false;
        }
        ethosu_ext_board_idle(&semaphore->count, timeout);
        uint32_t now = ethosu_ext_board_ticks_ms();
        uint32_t passed = now - last_ms;
        timeout -= passed < timeout ? passed : timeout;
        last_ms = now;
    }
    return true;
}

int ethosu_semaphore_take(void *sem, uint64_t timeout)
{
    struct semaphore *semaphore = sem;
    // Only one thread takes, interrupts only give: a count that was seen stays.
    if (__atomic_load_n(&semaphore->count, __ATOMIC_ACQUIRE) == 0) {
        if (timeout == 0 || !semaphore_run_events()) {
            return -1;
        }
        // Most waits end at the first wake, and need no clock. This part is not counted, which
        // makes a time-out late by a sixteenth at most.
        ethosu_ext_board_idle(&semaphore->count, timeout / 16 + 1);
        if (semaphore->count == 0 && !wait_longer(semaphore, timeout)) {
            return -1;
        }
    }
    __atomic_fetch_sub(&semaphore->count, 1, __ATOMIC_ACQ_REL);
    return 0;
}
