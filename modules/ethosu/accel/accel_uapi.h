// SPDX-License-Identifier: MIT
/**
 * The kernel's interface: drm/ethosu_accel.h of Linux 6.19 and later, and the parts of drm/drm.h
 * and linux/dma-buf.h used with it. Many systems do not have headers that recent.
 */
#ifndef ACCEL_UAPI_H
#define ACCEL_UAPI_H

#include <stdint.h>
#include <sys/ioctl.h>

struct accel_query {
    uint32_t type; /**< 0: struct accel_npu_info */
    uint32_t size;
    uint64_t pointer;
};

struct accel_npu_info {
    uint32_t id;     /**< register ID */
    uint32_t config; /**< register CONFIG */
    uint32_t sram_size;
    uint32_t pmu_counters; /**< of kernels that count events */
};

struct accel_buffer_create {
    uint64_t size; /**< in and out: rounded to pages */
    uint32_t flags;
    uint32_t handle; /**< out */
};

struct accel_buffer_wait {
    uint32_t handle;
    uint32_t pad;
    int64_t timeout_ns; /**< a time of CLOCK_MONOTONIC */
};

struct accel_buffer_offset {
    uint32_t handle;
    uint32_t pad;
    uint64_t offset; /**< out: for mmap() */
};

struct accel_stream_create {
    uint32_t size;
    uint32_t flags;
    uint64_t data;
    uint32_t handle; /**< out */
    uint32_t pad;
};

#define ACCEL_REGIONS 8

struct accel_job {
    uint32_t stream;
    uint32_t sram_size;
    uint32_t regions[ACCEL_REGIONS];
};

struct accel_submit {
    uint64_t jobs;
    uint32_t job_count;
    uint32_t perfmon; /**< 0 if unused */
};

struct accel_perfmon_create {
    uint32_t id;       /**< out */
    uint32_t counters; /**< in and out: one more for cycles */
    uint16_t events[8];
};

struct accel_perfmon_destroy {
    uint32_t id;
    uint32_t pad;
};

struct accel_perfmon_values {
    uint32_t id;
    uint32_t pad;
    uint64_t values;
};

struct accel_handle_close {
    uint32_t handle;
    uint32_t pad;
};

struct accel_export {
    uint32_t handle;
    uint32_t flags;
    int32_t file; /**< out */
};

struct accel_fence {
    uint32_t flags; /**< 1: fences that a reader must wait for */
    int32_t file;   /**< out */
};

/** The region that the kernel calls SRAM. */
#define ACCEL_SRAM_REGION 2

#define ACCEL_QUERY _IOWR('d', 0x40, struct accel_query)
#define ACCEL_BUFFER_CREATE _IOWR('d', 0x41, struct accel_buffer_create)
#define ACCEL_BUFFER_WAIT _IOWR('d', 0x42, struct accel_buffer_wait)
#define ACCEL_BUFFER_OFFSET _IOWR('d', 0x43, struct accel_buffer_offset)
#define ACCEL_STREAM_CREATE _IOWR('d', 0x44, struct accel_stream_create)
#define ACCEL_SUBMIT _IOWR('d', 0x45, struct accel_submit)
#define ACCEL_PERFMON_CREATE _IOWR('d', 0x46, struct accel_perfmon_create)
#define ACCEL_PERFMON_DESTROY _IOWR('d', 0x47, struct accel_perfmon_destroy)
#define ACCEL_PERFMON_VALUES _IOWR('d', 0x48, struct accel_perfmon_values)
#define ACCEL_HANDLE_CLOSE _IOW('d', 0x09, struct accel_handle_close)
#define ACCEL_EXPORT _IOWR('d', 0x2D, struct accel_export)
#define ACCEL_EXPORT_FENCE _IOWR('b', 2, struct accel_fence)

_Static_assert(sizeof(struct accel_query) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_npu_info) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_buffer_create) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_buffer_wait) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_buffer_offset) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_stream_create) == 24, "as the kernel's");
_Static_assert(sizeof(struct accel_job) == 40, "as the kernel's");
_Static_assert(sizeof(struct accel_submit) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_perfmon_create) == 24, "as the kernel's");
_Static_assert(sizeof(struct accel_perfmon_values) == 16, "as the kernel's");
_Static_assert(sizeof(struct accel_export) == 12, "as the kernel's");
_Static_assert(sizeof(struct accel_fence) == 8, "as the kernel's");

#endif
