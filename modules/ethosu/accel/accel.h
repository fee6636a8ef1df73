// SPDX-License-Identifier: MIT
/** Internal declarations of the Linux accel back end. */
#ifndef ACCEL_H
#define ACCEL_H

#include "accel_uapi.h"
#include "ethosu_accel.h"
#include "driver/base/ethosu_fault.h"

/** A buffer object, also mapped for the CPU. */
struct accel_buffer {
    struct accel_buffer *next;
    uint8_t *map;
    size_t size;     /**< requested bytes */
    size_t map_size; /**< bytes that are mapped */
    uint32_t handle;
    const void *source; /**< original of this copy; NULL if not a copy */
};

/**
 * Completion mark in a separate buffer. Each command stream ends by copying `next` to `done`. The
 * kernel does not report failures of the NPU, so a missing copy shows that the stream did not end.
 */
struct accel_mark {
    volatile uint32_t next;
    uint32_t pad_next[3];
    volatile uint32_t done;
    uint32_t pad_done[3];
};

/** Size and alignment of the mark's DMA transfer, in bytes. */
#define ACCEL_MARK_BYTES 16u

enum accel_state {
    ACCEL_IDLE,
    ACCEL_RUNNING,
    ACCEL_LEFT, /**< the job was abandoned, but the kernel may still be running it */
};

struct accel {
    struct ethosu_driver driver; /**< must be first: the part that callers see */
    enum accel_state state;
    const struct ethosu_ext_program *run; /**< started last */
    const struct ethosu_accel_calls *calls;
    int file;
    uint32_t sram_size;
    uint32_t counters; /**< that the kernel offers */
    struct accel_buffer *buffers;
    struct accel_buffer *mark;
    uint32_t runs; /**< value of the mark */
    uint32_t perfmon;
    uint32_t events; /**< that it counts */
    uint64_t copied;
};

static inline struct accel *accel_of(struct ethosu_driver *drv)
{
    return (struct accel *)drv;
}

/** Make an ioctl, and repeat it if a signal interrupts it. @return 0, or an errno */
int accel_call(const struct accel *accel, int file, unsigned long request, void *argument);

/** Create a buffer for base pointer `index`, or -1. NULL on failure, with the fault set. */
struct accel_buffer *accel_buffer_new(struct accel *accel, size_t size, int index);

/** The buffer that starts at this address, or NULL. */
struct accel_buffer *accel_buffer_at(const struct accel *accel, uint64_t address);

/** The buffer of a handle. */
struct accel_buffer *accel_buffer_of(const struct accel *accel, uint32_t handle);

/** The buffer that holds a copy of these bytes, or NULL. */
struct accel_buffer *accel_buffer_copy_of(const struct accel *accel, const void *source,
                                          size_t size);

/** Free all buffers. */
void accel_buffers_free(struct accel *accel);

/** Fill the copies of these base pointers, bits by number. */
void accel_fill_copies(struct accel *accel, const struct ethosu_ext_program *program,
                       uint32_t bases);

/** Count bytes copied for the NPU. */
void accel_copy(struct accel *accel, void *to, const void *from, size_t size);

#endif
