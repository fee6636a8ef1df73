// SPDX-License-Identifier: MIT
/**
 * Functions that JavaScript provides to the instance: the imports of module "host", implemented in
 * js/board.mjs. All return immediately, except host_sleep().
 */
#ifndef WEB_HOST_H
#define WEB_HOST_H

#include <stddef.h>
#include <stdint.h>

#define HOST_IMPORT(name) __attribute__((import_module("host"), import_name(#name)))

/** Milliseconds of a monotonic clock, with fractions. */
HOST_IMPORT(now) double host_now(void);

/** Seconds since 1970. */
HOST_IMPORT(epoch) double host_epoch(void);

/** Write bytes to the console. */
HOST_IMPORT(write) void host_write(const char *bytes, size_t size);

/** Read up to `size` bytes of input; returns the number read. */
HOST_IMPORT(read) size_t host_read(uint8_t *bytes, size_t size);

/** Sleep until there is input, for at most `ms`. */
HOST_IMPORT(sleep) void host_sleep(double ms);

/**
 * Write the config of NPU `index`, "ethos-u55-128", to `name`; returns its length, 0 if there is no
 * such NPU.
 */
HOST_IMPORT(npu) size_t host_npu(uint32_t index, char *name, size_t size);

/**
 * Memories for the NPU's timing: writes up to `room` struct npu_memory to `table`; returns their
 * number.
 */
HOST_IMPORT(memories) uint32_t host_memories(void *table, uint32_t room);

/** Sources of host_feed(). */
#define HOST_MICROPHONE 0u
#define HOST_CAMERA 1u

/** Size of a camera picture in pixels, three bytes each. */
#define HOST_PICTURE_WIDTH 320
#define HOST_PICTURE_HEIGHT 240

/** Read up to `size` bytes of a source, for a picture all or nothing; returns the number read. */
HOST_IMPORT(feed) size_t host_feed(uint32_t source, uint8_t *bytes, size_t size);

/** JSON for the page to show. */
HOST_IMPORT(show) void host_show(const char *text, size_t size);

/** End this instance and start another one with this `cause`. Does not return. */
HOST_IMPORT(reset) _Noreturn void host_reset(uint32_t cause);

/** The reason this instance was started. */
HOST_IMPORT(reset_cause) uint32_t host_reset_cause(void);

#endif
