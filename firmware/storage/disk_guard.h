// SPDX-License-Identifier: MIT
/**
 * Stands between MicroPython's extmod/vfs_lfs.c, which includes this file first (see Makefile), and
 * LittleFS, so that each function of LittleFS returns, and then knows what is on the disk.
 *
 * - An exception of a block device, such as one written in Python, would leave LittleFS by
 * longjmp(). A file that was being closed would stay open, and the garbage collector would close it
 * again, with its old content. So the exception becomes pending, as Ctrl-C does, and LittleFS gets
 * -EINTR. mp_raise_OSError(EINTR) raises the pending exception in its place.
 * - A block that cannot be written (-EIO) is a bad one: LittleFS takes another.
 * - An operation that fails may have reached the disk. LittleFS must not go on from what it
 * planned: the next commit of any file would record it, and a file that was not moved would be
 * gone.
 */
#pragma once

#include <stdbool.h>

#include "lib/littlefs/lfs2.h"

/** Let the functions of a device that LittleFS calls return exceptions. @return  `config` */
struct lfs2_config *disk_guard(struct lfs2_config *config);

/** The end of an operation that changes the disk. @return  what MicroPython is told */
int disk_guard_end(lfs2_t *lfs, int result);

/** For operations whose errors MicroPython ignores: raise the device's exception. @return  `result`
 */
int disk_guard_raise(int result);

/**
 * Is an exception pending that is raised here? Ctrl-C is not raised in scheduled callbacks and
 * finalisers: MicroPython would print it there, and forget it.
 */
bool disk_guard_is_interrupted(void);

/** disk_names.c */
int disk_names_stat(lfs2_t *lfs, const char *path, struct lfs2_info *info);

// In these macros their own name is the function.
#define lfs2_stat(lfs, path, info) disk_guard_raise(disk_names_stat(lfs, path, info))
#define lfs2_getattr(lfs, ...) disk_guard_raise(lfs2_getattr(lfs, __VA_ARGS__))
#define lfs2_mount(lfs, config) lfs2_mount(lfs, disk_guard(config))
#define lfs2_format(lfs, config) disk_guard_end(lfs, lfs2_format(lfs, disk_guard(config)))
#define lfs2_file_opencfg(lfs, ...) disk_guard_end(lfs, lfs2_file_opencfg(lfs, __VA_ARGS__))
#define lfs2_file_write(lfs, ...) disk_guard_end(lfs, lfs2_file_write(lfs, __VA_ARGS__))
#define lfs2_file_sync(lfs, file) disk_guard_end(lfs, lfs2_file_sync(lfs, file))
#define lfs2_file_close(lfs, file) disk_guard_end(lfs, lfs2_file_close(lfs, file))
#define lfs2_remove(lfs, path) disk_guard_end(lfs, lfs2_remove(lfs, path))
#define lfs2_rename(lfs, from, to) disk_guard_end(lfs, lfs2_rename(lfs, from, to))
#define lfs2_mkdir(lfs, path) disk_guard_end(lfs, lfs2_mkdir(lfs, path))
