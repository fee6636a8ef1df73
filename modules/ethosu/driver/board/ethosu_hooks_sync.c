// SPDX-License-Identifier: MIT
/**
 * Default mutex and semaphore for systems without threads, where only the
 * interrupt handler runs concurrently. An RTOS overrides all eight functions.
 */
#include "ethosu_board.h"
#include "ethosu_driver.h"
#include "driver/base/ethosu_sync.h"

/** One per NPU, and one for a caller that waits for an NPU. */
#define SEMAPHORE_COUNT 9

struct semaphore {
    volatile uint32_t count;
    volatile uint32_t used;
};

static struct semaphore semaphores[SEMAPHORE_COUNT];
static volatile uint32_t mutex_locked;

__attribute__((weak)) void *ethosu_mutex_create(void)
{
    ethosu_ext_store(&mutex_locked, 0);
    return (void *)&mutex_locked;
}

__attribute__((weak)) void ethosu_mutex_destroy(void *mutex)
{
    (void)mutex;
}

__attribute__((weak)) int ethosu_mutex_lock(void *mutex)
{
    return ethosu_ext_change(mutex, 0, 1) ? 0 : -1;
}

__attribute__((weak)) int ethosu_mutex_unlock(void *mutex)
{
    ethosu_ext_store(mutex, 0);
    return 0;
}

__attribute__((weak)) void *ethosu_semaphore_create(void)
{
    for (unsigned i = 0; i < SEMAPHORE_COUNT; i++) {
        if (ethosu_ext_change(&semaphores[i].used, 0, 1)) {
            ethosu_ext_store(&semaphores[i].count, 0);
            return &semaphores[i];
        }
    }
    return NULL;
}

__attribute__((weak)) void ethosu_semaphore_destroy(void *sem)
{
    for (unsigned i = 0; i < SEMAPHORE_COUNT; i++) { // leave a port's own semaphores alone
        if (sem == &semaphores[i]) {
            ethosu_ext_store(&semaphores[i].used, 0);
        }
    }
}

static bool try_to_take(struct semaphore *semaphore)
{
    uint32_t count;
    do {
        count = ethosu_ext_load(&semaphore->count);
    } while (count > 0 && !ethosu_ext_change(&semaphore->count, count, count - 1));
    return count > 0;
}

__attribute__((weak)) int ethosu_semaphore_take(void *sem, uint64_t timeout)
{
    struct semaphore *semaphore = sem;
    if (try_to_take(semaphore)) {
        return 0;
    }
    uint32_t last = ethosu_ext_board_ticks_ms();
    while (timeout > 0) {
        ethosu_ext_board_idle(&semaphore->count, timeout);
        if (try_to_take(semaphore)) {
            return 0;
        }
        uint32_t now = ethosu_ext_board_ticks_ms();
        uint32_t passed = now - last;
        timeout -= passed < timeout ? passed : timeout; // without a limit it does not end
        last = now;
    }
    return -1;
}

__attribute__((weak)) int ethosu_semaphore_give(void *sem)
{
    struct semaphore *semaphore = sem;
    ethosu_ext_add(&semaphore->count, 1);
    return 0;
}
