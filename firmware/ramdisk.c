// SPDX-License-Identifier: MIT
/**
 * machine.RAMDisk: a block device in the memory that the board's memory.ld sets
 * aside for it. Its content survives a reset, not a power cut.
 */
#include <string.h>

#include "extmod/vfs.h"
#include "py/mperrno.h"
#include "py/obj.h"
#include "py/runtime.h"
#include "startup.h"

#define BLOCK_SIZE 4096u

extern const mp_obj_type_t machine_ramdisk_type;

static const mp_obj_base_t ramdisk = {&machine_ramdisk_type};

static size_t disk_size(void)
{
    return (size_t)(_ramdisk_end - _ramdisk_start);
}

static mp_obj_t ramdisk_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                                 const mp_obj_t *args)
{
    mp_arg_check_num(n_args, n_kw, 0, 0, false);
    return MP_OBJ_FROM_PTR(&ramdisk);
}

/** The disk's memory for a transfer of `size` bytes named by (self, block, buffer[, offset]). */
static uint8_t *locate(size_t n_args, const mp_obj_t *args, size_t size)
{
    mp_uint_t block = (mp_uint_t)mp_obj_get_int(args[1]);
    mp_uint_t offset = n_args > 3 ? (mp_uint_t)mp_obj_get_int(args[3]) : 0;
    size_t total = disk_size();
    if (block >= total / BLOCK_SIZE || offset > total - block * BLOCK_SIZE ||
        size > total - block * BLOCK_SIZE - offset) {
        mp_raise_OSError(MP_EINVAL);
    }
    return _ramdisk_start + block * BLOCK_SIZE + offset;
}

static mp_obj_t ramdisk_readblocks(size_t n_args, const mp_obj_t *args)
{
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[2], &buffer, MP_BUFFER_WRITE);
    memcpy(buffer.buf, locate(n_args, args, buffer.len), buffer.len);
    return MP_OBJ_NEW_SMALL_INT(0);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(ramdisk_readblocks_obj, 3, 4, ramdisk_readblocks);

static mp_obj_t ramdisk_writeblocks(size_t n_args, const mp_obj_t *args)
{
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[2], &buffer, MP_BUFFER_READ);
    memcpy(locate(n_args, args, buffer.len), buffer.buf, buffer.len);
    return MP_OBJ_NEW_SMALL_INT(0);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(ramdisk_writeblocks_obj, 3, 4, ramdisk_writeblocks);

static mp_obj_t ramdisk_ioctl(mp_obj_t self, mp_obj_t command, mp_obj_t argument)
{
    switch (mp_obj_get_int(command)) {
    case MP_BLOCKDEV_IOCTL_INIT:
    case MP_BLOCKDEV_IOCTL_DEINIT:
    case MP_BLOCKDEV_IOCTL_SYNC:
    case MP_BLOCKDEV_IOCTL_BLOCK_ERASE:
        return MP_OBJ_NEW_SMALL_INT(0);
    case MP_BLOCKDEV_IOCTL_BLOCK_COUNT:
        return MP_OBJ_NEW_SMALL_INT(disk_size() / BLOCK_SIZE);
    case MP_BLOCKDEV_IOCTL_BLOCK_SIZE:
        return MP_OBJ_NEW_SMALL_INT(BLOCK_SIZE);
    default:
        return mp_const_none;
    }
}
static MP_DEFINE_CONST_FUN_OBJ_3(ramdisk_ioctl_obj, ramdisk_ioctl);

static const mp_rom_map_elem_t ramdisk_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_readblocks), MP_ROM_PTR(&ramdisk_readblocks_obj)},
    {MP_ROM_QSTR(MP_QSTR_writeblocks), MP_ROM_PTR(&ramdisk_writeblocks_obj)},
    {MP_ROM_QSTR(MP_QSTR_ioctl), MP_ROM_PTR(&ramdisk_ioctl_obj)},
};
static MP_DEFINE_CONST_DICT(ramdisk_locals, ramdisk_locals_table);

MP_DEFINE_CONST_OBJ_TYPE(machine_ramdisk_type, MP_QSTR_RAMDisk, MP_TYPE_FLAG_NONE, make_new,
                         ramdisk_make_new, locals_dict, &ramdisk_locals);
