// SPDX-License-Identifier: MIT
/**
 * vfs.rom_ioctl(): the one ROMFS partition, memory that the board's memory.ld
 * sets aside. Files in it are used where they lie.
 *
 * A new image is written behind the old one and moved over it when it is whole,
 * so that a deploy that breaks off at any moment leaves the old image or the
 * new one. The record behind the partition says that a whole image waits: a
 * move that breaks off is done again. No image reaches into the record. An image that does not fit
 * behind the old one is written over it; its first bytes, without which nothing
 * is mounted, come last.
 */
#include <string.h>

#include "cpu.h"
#include "extmod/vfs.h"
#include "firmware.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "startup.h"

/** What a write must be a multiple of; RAM sets no limit, so the least that mpremote accepts. */
#define WRITE_UNIT 4
/** The file data of an image stays aligned when it is moved: what NPUs ask for. */
#define ALIGNMENT 16
/** rom_ioctl(256, id, size): 1 when the old image is kept until one of this size is whole. */
#define ROM_IOCTL_KEEPS_OLD 256

static const uint8_t image_start[] = {0xD2, 0xCD, 0x31};

/** At the end of the memory, behind the partition: an image of `size` bytes waits at `from`. */
struct record {
    uint32_t magic;
    uint32_t from;
    uint32_t size;
    uint32_t check;
};
#define RECORD_MAGIC 0x45564F4Du

static mp_obj_array_t partition = {
    .base = {&mp_type_memoryview},
    .typecode = 'B',
};

/** The deploy at work. `size` is 0 when there is none. */
static struct {
    size_t target;
    size_t size;
    uint8_t head[WRITE_UNIT];
} deploy;

static mp_obj_t failure(int error)
{
    return MP_OBJ_NEW_SMALL_INT(-error);
}

static uint8_t *at(size_t offset)
{
    return (uint8_t *)partition.items + offset;
}

static struct record *record(void)
{
    return (struct record *)at(partition.len);
}

static uint32_t check(const struct record *of)
{
    return ~(of->magic ^ of->from ^ (of->size << 1));
}

/** Bytes of the image at the start of the partition, 0 when none is there. */
static size_t old_size(void)
{
    if (memcmp(at(0), image_start, sizeof(image_start)) != 0) {
        return 0;
    }
    size_t offset = sizeof(image_start);
    size_t length = 0;
    uint8_t byte = 0x80;
    for (size_t limit = offset + 5; offset < limit && (byte & 0x80) != 0; offset++) {
        byte = *at(offset);
        length = length << 7 | (byte & 0x7F);
    }
    return length < partition.len - offset ? offset + length : partition.len;
}

/** Where a new image waits until it is whole; 0 when only the old one's place is large enough. */
static size_t waiting_place(size_t size)
{
    size_t old = old_size();
    size_t least = old > size ? old : size;
    size_t place = size < partition.len ? (partition.len - size) / ALIGNMENT * ALIGNMENT : 0;
    return place >= least ? place : 0;
}

/** Move an image that waits, if one does; to do so twice does no harm. */
static void finish_move(void)
{
    struct record found = *record();
    if (found.magic != RECORD_MAGIC || found.check != check(&found) || found.size > found.from ||
        found.from > partition.len || found.size > partition.len - found.from) {
        return;
    }
    memcpy(at(0), at(found.from), found.size);
    SCB_CleanDCache(); // all of it is in memory before the record goes
    memset(record(), 0, sizeof(struct record));
    SCB_CleanDCache();
}

static mp_obj_t prepare(size_t n_args, const mp_obj_t *args)
{
    mp_uint_t size = n_args < 3 ? 0 : (mp_uint_t)mp_obj_get_int(args[2]);
    if (size == 0 || size > partition.len) {
        return failure(MP_EINVAL);
    }
    deploy.target = waiting_place(size);
    deploy.size = size;
    memset(deploy.head, 0xFF, WRITE_UNIT);
    memset(at(deploy.target), 0xFF, WRITE_UNIT);
    SCB_CleanDCache();
    return MP_OBJ_NEW_SMALL_INT(WRITE_UNIT);
}

static mp_obj_t write(size_t n_args, const mp_obj_t *args)
{
    if (n_args < 4 || deploy.size == 0) {
        return failure(MP_EINVAL);
    }
    mp_uint_t offset = (mp_uint_t)mp_obj_get_int(args[2]);
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[3], &buffer, MP_BUFFER_READ);
    if (offset > deploy.size) {
        return failure(MP_EINVAL);
    }
    // mpremote pads its last block, past the end of the image.
    size_t room = deploy.size - offset;
    size_t size = buffer.len < room ? buffer.len : room;
    size_t held = offset < WRITE_UNIT ? WRITE_UNIT - offset : 0;
    held = held < size ? held : size;
    memcpy(deploy.head + (held > 0 ? offset : 0), buffer.buf, held);
    memcpy(at(deploy.target + offset + held), (const uint8_t *)buffer.buf + held, size - held);
    return MP_OBJ_NEW_SMALL_INT(0);
}

void romfs_forget_deploy(void)
{
    deploy.size = 0;
}

static mp_obj_t complete(void)
{
    if (deploy.size == 0) {
        return failure(MP_EINVAL);
    }
    SCB_CleanDCache(); // the rest is in memory before what makes it an image
    size_t held = deploy.size < WRITE_UNIT ? deploy.size : WRITE_UNIT;
    memcpy(at(deploy.target), deploy.head, held);
    SCB_CleanDCache(); // the NPU reads weights past the cache
    if (deploy.target != 0) {
        struct record waits = {RECORD_MAGIC, deploy.target, deploy.size, 0};
        waits.check = check(&waits);
        *record() = waits;
        SCB_CleanDCache();
        finish_move();
    }
    romfs_forget_deploy();
    return MP_OBJ_NEW_SMALL_INT(0);
}

static mp_obj_t keeps_old(size_t n_args, const mp_obj_t *args)
{
    mp_uint_t size = n_args < 3 ? 0 : (mp_uint_t)mp_obj_get_int(args[2]);
    return MP_OBJ_NEW_SMALL_INT(size != 0 && waiting_place(size) != 0);
}

mp_obj_t mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args)
{
    partition.items = _romfs_start;
    partition.len = (size_t)(_romfs_end - _romfs_start) - sizeof(struct record);
    finish_move();
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
        return complete();
    case ROM_IOCTL_KEEPS_OLD:
        return keeps_old(n_args, args);
    default:
        return failure(MP_EINVAL);
    }
}
