// SPDX-License-Identifier: MIT
/**
 * vfs.rom_ioctl(): the one ROMFS partition, memory that the board's memory.ld
 * sets aside. Files in it are used where they lie.
 */
#include <string.h>

#include "cpu.h"
#include "extmod/vfs.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "startup.h"

/** What a write must be a multiple of; RAM sets no limit, so the least that mpremote accepts. */
#define WRITE_UNIT 4

static mp_obj_array_t partition = {
    .base = {&mp_type_memoryview},
    .typecode = 'B',
};

static mp_obj_t failure(int error)
{
    return MP_OBJ_NEW_SMALL_INT(-error);
}

static mp_obj_t prepare(size_t n_args, const mp_obj_t *args)
{
    if (n_args < 3 || (mp_uint_t)mp_obj_get_int(args[2]) > partition.len) {
        return failure(MP_EINVAL);
    }
    // An interrupted deploy leaves no file system instead of a broken one.
    memset(partition.items, 0xFF, WRITE_UNIT);
    return MP_OBJ_NEW_SMALL_INT(WRITE_UNIT);
}

static mp_obj_t write(size_t n_args, const mp_obj_t *args)
{
    if (n_args < 4) {
        return failure(MP_EINVAL);
    }
    mp_uint_t offset = (mp_uint_t)mp_obj_get_int(args[2]);
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[3], &buffer, MP_BUFFER_READ);
    if (offset > partition.len) {
        return failure(MP_EINVAL);
    }
    // mpremote pads its last block, maybe past the end of the partition.
    size_t room = partition.len - offset;
    memcpy((uint8_t *)partition.items + offset, buffer.buf, buffer.len < room ? buffer.len : room);
    return MP_OBJ_NEW_SMALL_INT(0);
}

mp_obj_t mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args)
{
    partition.items = _romfs_start;
    partition.len = (size_t)(_romfs_end - _romfs_start);
    mp_int_t command = mp_obj_get_int(args[0]);
    if (command == MP_VFS_ROM_IOCTL_GET_NUMBER_OF_SEGMENTS) {
        return MP_OBJ_NEW_SMALL_INT(1);
    }
    if (n_args < 2 || mp_obj_get_int(args[1]) != 0) {
        return failure(MP_EINVAL);
    }
    switch (command) {
    case MP_VFS_ROM_IOCTL_GET_SEGMENT:
        return MP_OBJ_FROM_PTR(&partition);
    case MP_VFS_ROM_IOCTL_WRITE_PREPARE:
        return prepare(n_args, args);
    case MP_VFS_ROM_IOCTL_WRITE:
        return write(n_args, args);
    case MP_VFS_ROM_IOCTL_WRITE_COMPLETE:
        SCB_CleanDCache(); // the NPU reads weights past the cache
        return MP_OBJ_NEW_SMALL_INT(0);
    default:
        return failure(MP_EINVAL);
    }
}
