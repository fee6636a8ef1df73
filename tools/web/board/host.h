// SPDX-License-Identifier: MIT
/**
 * What the JavaScript around the instance does for it: the imports of module "host", which
 * js/board.mjs supplies. All of them return at once but host_sleep().
 */
#ifndef WEB_HOST_H
#define WEB_HOST_H

#include <stddef.h>
#include <stdint.h>

#define HOST_IMPORT(name) __attribute__((import_module("host"), import_name(#name)))

/** Milliseconds since some moment, with fractions; never goes back. */
HOST_IMPORT(now) double host_now(void);

/** Seconds since 1970. */
HOST_IMPORT(epoch) double host_epoch(void);

/** Bytes for whoever reads the console. */
HOST_IMPORT(write) void host_write(const char *bytes, size_t size);

/** Take up to `size` bytes of input; the number taken. */
HOST_IMPORT(read) size_t host_read(uint8_t *bytes, size_t size);

/** Sleep until there is input, or for `ms` at most. */
HOST_IMPORT(sleep) void host_sleep(double ms);

/** The config of NPU `index`, "ethos-u55-128", into `name`; its length, 0: there is no such NPU. */
HOST_IMPORT(npu) size_t host_npu(uint32_t index, char *name, size_t size);

/** What the NPU is timed with: up to `room` of struct npu_memory into `table`; their number. */
HOST_IMPORT(memories) uint32_t host_memories(void *table, uint32_t room);

/** Sources of host_feed(). */
#define HOST_MICROPHONE 0u
#define HOST_CAMERA 1u

/** Pixels of a picture of the camera, three bytes each. */
#define HOST_PICTURE_WIDTH 320
#define HOST_PICTURE_HEIGHT 240

/** Take up to `size` bytes of a source, of a picture all or none; the number taken. */
HOST_IMPORT(feed) size_t host_feed(uint32_t source, uint8_t *bytes, size_t size);

/** JSON for the page to show. */
HOST_IMPORT(show) void host_show(const char *text, size_t size);

/** End this instance and start another, which finds `cause`. Does not return. */
HOST_IMPORT(reset) _Noreturn void host_reset(uint32_t cause);

/** Why this instance was started. */
HOST_IMPORT(reset_cause) uint32_t host_reset_cause(void);

#endif
