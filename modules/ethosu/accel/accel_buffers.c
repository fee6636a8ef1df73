// SPDX-License-Identifier: MIT
/** Memory of the NPU: buffer objects of the kernel, kept until the handle is closed. */
#include "accel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/**
 * Extra bytes at the end of each buffer. For some command streams of Ethos-U85, the kernel
 * overestimates the size they use, and rejects smaller buffers.
 */
#define SLACK 65536u

int accel_call(const struct accel *accel, int file, unsigned long request, void *argument)
{
    int result;
    do {
        result = accel->calls->ioctl(file, request, argument);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? errno : 0;
}

static void close_handle(const struct accel *accel, uint32_t handle)
{
    struct accel_handle_close close = {.handle = handle};
    (void)accel_call(accel, accel->file, ACCEL_HANDLE_CLOSE, &close);
}

/** Create a buffer in the kernel and map it. @return 0, or an errno */
static int create(const struct accel *accel, struct accel_buffer *buffer)
{
    struct accel_buffer_create create = {.size = buffer->size + SLACK};
    int error = accel_call(accel, accel->file, ACCEL_BUFFER_CREATE, &create);
    if (error != 0) {
        return error;
    }
    struct accel_buffer_offset place = {.handle = create.handle};
    error = accel_call(accel, accel->file, ACCEL_BUFFER_OFFSET, &place);
    void *map = error != 0 ? MAP_FAILED
                           : accel->calls->mmap(NULL, create.size, PROT_READ | PROT_WRITE,
                                                MAP_SHARED, accel->file, (off_t)place.offset);
    if (map == MAP_FAILED) {
        error = error != 0 ? error : errno;
        close_handle(accel, create.handle);
        return error;
    }
    buffer->handle = create.handle;
    buffer->map = map;
    buffer->map_size = create.size;
    return 0;
}

struct accel_buffer *accel_buffer_new(struct accel *accel, size_t size, int index)
{
    struct accel_buffer *buffer = calloc(1, sizeof *buffer);
    int error = ENOMEM;
    if (buffer != NULL && size <= SIZE_MAX - SLACK) {
        buffer->size = size;
        error = create(accel, buffer);
    }
    if (error != 0) {
        free(buffer);
        (void)ethosu_ext_refuse(&accel->driver.fault, ETHOSU_EXT_E_ACCEL_MEMORY, index, size,
                                (size_t)error);
        return NULL;
    }
    buffer->next = accel->buffers;
    accel->buffers = buffer;
    return buffer;
}

struct accel_buffer *accel_buffer_at(const struct accel *accel, uint64_t address)
{
    struct accel_buffer *buffer = accel->buffers;
    while (buffer != NULL && (uintptr_t)buffer->map != address) {
        buffer = buffer->next;
    }
    return buffer;
}

struct accel_buffer *accel_buffer_of(const struct accel *accel, uint32_t handle)
{
    struct accel_buffer *buffer = accel->buffers;
    while (buffer != NULL && buffer->handle != handle) {
        buffer = buffer->next;
    }
    return buffer;
}

struct accel_buffer *accel_buffer_copy_of(const struct accel *accel, const void *source,
                                          size_t size)
{
    struct accel_buffer *buffer = accel->buffers;
    while (buffer != NULL && (buffer->source != source || buffer->size != size)) {
        buffer = buffer->next;
    }
    return buffer;
}

void accel_buffers_free(struct accel *accel)
{
    while (accel->buffers != NULL) {
        struct accel_buffer *buffer = accel->buffers;
        accel->buffers = buffer->next;
        (void)accel->calls->munmap(buffer->map, buffer->map_size);
        close_handle(accel, buffer->handle);
        free(buffer);
    }
}

void accel_copy(struct accel *accel, void *to, const void *from, size_t size)
{
    accel->copied += size;
    memcpy(to, from, size);
}
