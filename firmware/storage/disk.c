// SPDX-License-Identifier: MIT
/**
 * machine.RAMDisk, machine.Flash: block devices in the memory that the board's
 * memory.ld reserves for them. RAMDisk survives a reset, Flash also a power cut.
 * A write to Flash waits for the NPU, which may be reading a model from there or
 * from the ROM file system.
 *
 * The methods raise exceptions for arguments of a wrong type only. All other errors they return:
 * LittleFS calls them, and an exception would leave it with a change half made.
 */
#include <string.h>

#include "board.h"
#include "clock.h"
#include "cpu.h"
#include "disk.h"
#include "disk_guard.h"
#include "ethosu_ext.h"
#include "extmod/vfs.h"
#include "irq.h"
#include "py/mperrno.h"
#include "py/obj.h"
#include "py/runtime.h"
#include "startup.h"

#define MIN_BLOCK_SIZE 4096u
/** How long a write to flash waits for inferences. */
#define NPU_WAIT_MS 5000u

extern const mp_obj_type_t machine_ramdisk_type;
extern const mp_obj_type_t machine_flash_type;

struct disk {
    mp_obj_base_t base;
    uint8_t *start;
    uint8_t *end;
    const struct nvm *nvm;
};

static const struct nvm ram = {.write = nvm_write_plain};

static const struct disk ramdisk = {{&machine_ramdisk_type}, _ramdisk_start, _ramdisk_end, &ram};
static const struct disk flash = {
    {&machine_flash_type}, _flashdisk_start, _flashdisk_end, &board_nvm};

static uint32_t changes;

static size_t block_size(const struct disk *disk)
{
    size_t unit = nvm_unit(disk->nvm);
    return unit > MIN_BLOCK_SIZE ? unit : MIN_BLOCK_SIZE;
}

static size_t disk_size(const struct disk *disk)
{
    return (size_t)(disk->end - disk->start);
}

static mp_obj_t disk_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                              const mp_obj_t *args)
{
    mp_arg_check_num(n_args, n_kw, 0, 0, false);
    const struct disk *disk = type == &machine_ramdisk_type ? &ramdisk : &flash;
    if (disk_size(disk) == 0 || disk->nvm->write == NULL) {
        mp_raise_OSError(MP_ENODEV);
    }
    return MP_OBJ_FROM_PTR(disk);
}

/** What a method returns: 0, or a negative errno, which the file system returns in its turn. */
static mp_obj_t status(int error)
{
    return MP_OBJ_NEW_SMALL_INT(-error);
}

/**
 * The disk's memory for a transfer of `size` bytes named by (self, block, buffer[, offset]); NULL
 * if it is not all inside.
 */
static uint8_t *locate(size_t n_args, const mp_obj_t *args, size_t size)
{
    const struct disk *disk = MP_OBJ_TO_PTR(args[0]);
    mp_uint_t block = (mp_uint_t)mp_obj_get_int(args[1]);
    mp_uint_t offset = n_args > 3 ? (mp_uint_t)mp_obj_get_int(args[3]) : 0;
    size_t total = disk_size(disk);
    size_t unit = block_size(disk);
    bool inside = block < total / unit && offset <= total - block * unit &&
                  size <= total - block * unit - offset;
    return inside ? disk->start + block * unit + offset : NULL;
}

static mp_obj_t disk_readblocks(size_t n_args, const mp_obj_t *args)
{
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[2], &buffer, MP_BUFFER_WRITE);
    const uint8_t *at = locate(n_args, args, buffer.len);
    if (at == NULL) {
        return status(MP_EINVAL);
    }
    memcpy(buffer.buf, at, buffer.len);
    return status(0);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(disk_readblocks_obj, 3, 4, disk_readblocks);

const struct disk *disk_of(const mp_vfs_blockdev_t *device)
{
    return device->readblocks[0] == MP_OBJ_FROM_PTR(&disk_readblocks_obj)
               ? MP_OBJ_TO_PTR(device->readblocks[1])
               : NULL;
}

uint32_t disk_changes(void)
{
    return changes;
}

#ifdef FIRMWARE_PLAIN
static bool npu_is_busy(void)
{
    return false;
}
#else
static bool npu_is_busy(void)
{
    const struct ethosu_driver *npu = ethosu_ext_next(NULL);
    while (npu != NULL && !ethosu_ext_is_running(npu)) {
        npu = ethosu_ext_next(npu);
    }
    return npu != NULL;
}
#endif

/**
 * An NPU may be reading the flash to be changed, and no vendor specifies what it would read. No
 * program runs during the wait, since it would see the file system half changed. Ctrl-C ends it,
 * and stays pending (disk_guard.h).
 */
static int wait_for_npus(const struct disk *disk)
{
    uint64_t start_ms = clock_ms();
    while (disk->nvm != &ram && npu_is_busy()) {
        if (disk_guard_is_interrupted()) {
            return MP_EINTR;
        }
        uint64_t waited = clock_ms() - start_ms;
        if (waited >= NPU_WAIT_MS) {
            return MP_EBUSY;
        }
        irq_wait_ms((uint32_t)(NPU_WAIT_MS - waited));
    }
    return 0;
}

static int clear(const struct disk *disk, uint8_t *at, size_t size)
{
    for (size_t done = 0; disk->nvm->erase_unit != 0 && done < size;
         done += disk->nvm->erase_unit) {
        if (!nvm_clear(disk->nvm, at + done)) {
            return MP_EIO;
        }
    }
    return 0;
}

/** Flash is written in whole chunks; LittleFS is mounted with that block size. */
static int write_chunks(const struct nvm *nvm, uint8_t *at, const uint8_t *bytes, size_t size)
{
    for (size_t offset = 0; offset < size; offset += NVM_CHUNK) {
        _Alignas(uint64_t) uint8_t chunk[NVM_CHUNK];
        memcpy(chunk, bytes + offset, sizeof(chunk));
        if (!nvm_write(nvm, at + offset, chunk)) {
            return MP_EIO;
        }
    }
    return 0;
}

static int write_flash(const struct disk *disk, uint8_t *at, const mp_buffer_info_t *buffer,
                       bool whole_blocks)
{
    if ((uintptr_t)at % NVM_CHUNK != 0 || buffer->len % NVM_CHUNK != 0) {
        return MP_EINVAL;
    }
    int error = wait_for_npus(disk);
    if (error == 0 && whole_blocks) {
        error = clear(disk, at, buffer->len);
    }
    return error != 0 ? error : write_chunks(disk->nvm, at, buffer->buf, buffer->len);
}

/** Without an offset whole blocks are written, and erased before if need be (vfs.AbstractBlockDev).
 */
static mp_obj_t disk_writeblocks(size_t n_args, const mp_obj_t *args)
{
    const struct disk *disk = MP_OBJ_TO_PTR(args[0]);
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[2], &buffer, MP_BUFFER_READ);
    uint8_t *at = locate(n_args, args, buffer.len);
    if (at == NULL) {
        return status(MP_EINVAL);
    }
    changes++;
    if (disk->nvm == &ram) {
        memcpy(at, buffer.buf, buffer.len);
        SCB_CleanDCache_by_Addr(at, (int32_t)buffer.len); // the reset button empties the cache
        return status(0);
    }
    return status(write_flash(disk, at, &buffer, n_args < 4));
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(disk_writeblocks_obj, 3, 4, disk_writeblocks);

static int erase(const struct disk *disk, mp_obj_t block)
{
    mp_obj_t place[] = {MP_OBJ_FROM_PTR(disk), block, mp_const_none};
    uint8_t *at = locate(MP_ARRAY_SIZE(place), place, block_size(disk));
    if (at == NULL) {
        return MP_EINVAL;
    }
    changes++;
    int error = wait_for_npus(disk);
    return error != 0 ? error : clear(disk, at, block_size(disk));
}

static mp_obj_t disk_ioctl(mp_obj_t self, mp_obj_t command, mp_obj_t argument)
{
    const struct disk *disk = MP_OBJ_TO_PTR(self);
    switch (mp_obj_get_int(command)) {
    case MP_BLOCKDEV_IOCTL_INIT:
    case MP_BLOCKDEV_IOCTL_DEINIT:
    case MP_BLOCKDEV_IOCTL_SYNC:
        return status(0);
    case MP_BLOCKDEV_IOCTL_BLOCK_ERASE:
        return status(erase(disk, argument));
    case MP_BLOCKDEV_IOCTL_BLOCK_COUNT:
        return MP_OBJ_NEW_SMALL_INT(disk_size(disk) / block_size(disk));
    case MP_BLOCKDEV_IOCTL_BLOCK_SIZE:
        return MP_OBJ_NEW_SMALL_INT(block_size(disk));
    default:
        return mp_const_none;
    }
}
static MP_DEFINE_CONST_FUN_OBJ_3(disk_ioctl_obj, disk_ioctl);

static const mp_rom_map_elem_t disk_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_readblocks), MP_ROM_PTR(&disk_readblocks_obj)},
    {MP_ROM_QSTR(MP_QSTR_writeblocks), MP_ROM_PTR(&disk_writeblocks_obj)},
    {MP_ROM_QSTR(MP_QSTR_ioctl), MP_ROM_PTR(&disk_ioctl_obj)},
};
static MP_DEFINE_CONST_DICT(disk_locals, disk_locals_table);

MP_DEFINE_CONST_OBJ_TYPE(machine_ramdisk_type, MP_QSTR_RAMDisk, MP_TYPE_FLAG_NONE, make_new,
                         disk_make_new, locals_dict, &disk_locals);
MP_DEFINE_CONST_OBJ_TYPE(machine_flash_type, MP_QSTR_Flash, MP_TYPE_FLAG_NONE, make_new,
                         disk_make_new, locals_dict, &disk_locals);
