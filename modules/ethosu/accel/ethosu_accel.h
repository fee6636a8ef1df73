// SPDX-License-Identifier: MIT
/**
 * Runtime access to an NPU through Linux's own driver, /dev/accel/accel*.
 *
 * ethosu_accel_open() returns a handle for which prepare, start and wait of ethosu_ext.h
 * work as on a Cortex-M. Shared code is in driver/, and the runtime is the same. The
 * rest of ethosu_driver.h is not available: no registers, no interrupt.
 *
 *     struct ethosu_driver *npu = ethosu_accel_open("/dev/accel/accel0", NULL, &fault);
 *     memory.arena = ethosu_accel_alloc(npu, memory.arena_size);
 *     ... ethosu_model_load(), ethosu_model_invoke() ...
 *     ethosu_accel_close(npu);
 *
 * One handle is one open file: its inferences run in the order of their starts. Only
 * one thread at a time may use it.
 */
#ifndef ETHOSU_ACCEL_H
#define ETHOSU_ACCEL_H

#include "ethosu_ext.h"

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The system calls that access the device: the C library's, or a test's. */
struct ethosu_accel_calls {
    int (*open)(const char *path, int flags, ...);
    int (*ioctl)(int file, unsigned long request, ...);
    void *(*mmap)(void *address, size_t size, int protection, int flags, int file, off_t offset);
    int (*munmap)(void *address, size_t size);
    int (*close)(int file);
};

/**
 * Open an NPU.
 *
 * @param calls  NULL: the C library's
 * @param fault  set if NULL is returned; may be NULL
 */
struct ethosu_driver *ethosu_accel_open(const char *path, const struct ethosu_accel_calls *calls,
                                        struct ethosu_ext_fault *fault);

/** Close the NPU and free all its memory without waiting. NULL has no effect. */
void ethosu_accel_close(struct ethosu_driver *drv);

/**
 * Allocate zeroed memory that the NPU accesses directly, as a separate buffer object. It is not
 * cached, so CPU reads are slow. A base pointer at its start needs no copy. All others are copied:
 * constants by each ethosu_ext_prepare() and ethosu_ext_clean(), written regions before and after
 * each run.
 *
 * @return  NULL on failure, see ethosu_ext_last_error()
 */
void *ethosu_accel_alloc(struct ethosu_driver *drv, size_t size);

/** Bytes of SRAM that the kernel reserves for the NPU, or 0. */
size_t ethosu_accel_sram(const struct ethosu_driver *drv);

/** Bytes that were copied for base pointers since the handle was opened. */
uint64_t ethosu_accel_copied(const struct ethosu_driver *drv);

/**
 * A file descriptor that becomes readable for poll() when the current inference has ended. The
 * caller then closes it and calls ethosu_ext_wait().
 *
 * @return  -1 on failure, see ethosu_ext_last_error()
 */
int ethosu_accel_fence(struct ethosu_driver *drv);

/** Maximum number of counted events. */
#define ETHOSU_ACCEL_EVENTS_MAX 8

/**
 * Count these events during the following inferences. An empty list stops counting.
 *
 * @return  0, or an enum ethosu_ext_error if the kernel or the NPU has too few counters
 */
int ethosu_accel_count(struct ethosu_driver *drv, const uint16_t *events, unsigned number);

/**
 * Read the counters, cycles last. Call this within 50 ms of the end of an inference, because the
 * kernel then switches the NPU off and the counts are lost.
 *
 * @param counts  room for one more than the events
 */
int ethosu_accel_counts(struct ethosu_driver *drv, uint64_t *counts);

#ifdef __cplusplus
}
#endif

#endif
