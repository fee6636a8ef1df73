// SPDX-License-Identifier: MIT
/** Mutex and semaphore of a system with threads, as an RTOS port would override them. */
#include "ethosu_driver.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

void *ethosu_mutex_create(void)
{
    pthread_mutex_t *mutex = malloc(sizeof *mutex);
    pthread_mutex_init(mutex, NULL);
    return mutex;
}

void ethosu_mutex_destroy(void *mutex)
{
    pthread_mutex_destroy(mutex);
    free(mutex);
}

int ethosu_mutex_lock(void *mutex)
{
    return pthread_mutex_lock(mutex) == 0 ? 0 : -1;
}

int ethosu_mutex_unlock(void *mutex)
{
    return pthread_mutex_unlock(mutex) == 0 ? 0 : -1;
}

void *ethosu_semaphore_create(void)
{
    sem_t *semaphore = malloc(sizeof *semaphore);
    sem_init(semaphore, 0, 0);
    return semaphore;
}

void ethosu_semaphore_destroy(void *sem)
{
    sem_destroy(sem);
    free(sem);
}

int ethosu_semaphore_take(void *sem, uint64_t timeout)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t nanoseconds = (uint64_t)until.tv_nsec + timeout % 1000 * 1000000;
    until.tv_sec += (time_t)(timeout / 1000 + nanoseconds / 1000000000);
    until.tv_nsec = (long)(nanoseconds % 1000000000);
    int result;
    do {
        result = sem_timedwait(sem, &until);
    } while (result != 0 && errno == EINTR);
    return result;
}

int ethosu_semaphore_give(void *sem)
{
    return sem_post(sem);
}
