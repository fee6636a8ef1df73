// SPDX-License-Identifier: MIT
/**
 * vfs.rom_ioctl(): the ROMFS partition, memory that the board's memory.ld reserves
 * and its board_nvm writes. Files in it are used in place.
 *
 * A new image is written after the old one and moved over it once complete, so that a
 * deploy interrupted at any time leaves either the old image or the new one. The
 * journal after the partition marks a complete, pending image, so that an interrupted
 * move is repeated. No image overlaps the journal. An image that does not fit after the
 * old one overwrites it; the journal marks it as incomplete until it is done, and it is
 * dropped if interrupted.
 *
 * The journal is replayed only at start, when no model is loaded. If a step of the move fails, the
 * journal stays pending and the partition is not mounted. A new deploy drops the journal, because a
 * permanently failing unit would block every move, but a smaller image may not need that unit.
 *
 * mpremote ignores the return values of its requests, so write errors raise exceptions.
 */
#include <stdarg.h>
#include <string.h>

#include "board.h"
#include "extmod/vfs.h"
#include "extmod/vfs_rom.h"
#include "fault.h"
#include "firmware.h"
#include "lib/uzlib/uzlib.h"
#include "nvm.h"
#include "py/mperrno.h"
#include "py/objarray.h"
#include "py/runtime.h"
#include "startup.h"

/** Write granularity: the minimum that mpremote accepts. Chunks are assembled here. */
#define WRITE_UNIT 4
/** rom_ioctl(256, id, size): 1 if the old image is kept until one of this size is complete. */
#define ROM_IOCTL_KEEPS_OLD 256
/**
 * rom_ioctl(257, id, size): where an image of this size is written. Data of an earlier deploy stays
 * wherever the next one does not write, except in the first erase unit.
 */
#define ROM_IOCTL_TARGET 257
/**
 * rom_ioctl(258, id, offset, size): treat these bytes, left by an earlier deploy, as written. Whole
 * erase units, or up to the end of the image, and not the first unit.
 */
#define ROM_IOCTL_KEEP 258

static const uint8_t image_start[] = {0xD2, 0xCD, 0x31};

/**
 * At the end of the memory, after the partition: an image of `size` bytes is pending at `from`. A
 * size of 0 means that the start of the partition does not hold a complete image.
 */
struct journal {
    uint32_t magic;
    uint32_t from;
    uint32_t size;
    uint32_t check; /**< CRC-32 of the fields before it, to detect an interrupted write */
};
#define JOURNAL_MAGIC 0x45564F4Du

static mp_obj_array_t partition = {
    .base = {&mp_type_memoryview},
    .typecode = 'B',
};

/** The current deploy; `size` is 0 if inactive. All offsets are relative to `target`. */
static struct {
    size_t target;
    size_t size;
    size_t next;    /**< everything before it has been received */
    size_t at;      /**< offset of the chunk being filled */
    size_t cleared; /**< cleared up to here */
    _Alignas(uint64_t) uint8_t head[NVM_CHUNK];
    _Alignas(uint64_t) uint8_t chunk[NVM_CHUNK];
} deploy;

static mp_obj_t failure(int error)
{
    return MP_OBJ_NEW_SMALL_INT(-error);
}

/** Raise an exception; the current deploy may continue. */
static _Noreturn void refuse(int error, const char *format, ...)
{
    vstr_t text;
    vstr_init(&text, 128);
    va_list values;
    va_start(values, format);
    vstr_vprintf(&text, format, values);
    va_end(values);
    mp_obj_t arguments[2] = {MP_OBJ_NEW_SMALL_INT(error), mp_obj_new_str_from_vstr(&text)};
    nlr_raise(mp_obj_exception_make_new(&mp_type_OSError, 2, 0, arguments));
}

static uint8_t *at(size_t offset)
{
    return (uint8_t *)partition.items + offset;
}

static uint8_t *journal_address(void)
{
    return at(partition.len);
}

static uint32_t check(const struct journal *of)
{
    return ~uzlib_crc32(of, offsetof(struct journal, check), UINT32_MAX);
}

/** Size of the image at the start of the partition, or 0. */
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

/** Staging offset of a new image; 0 if it must overwrite the old one. */
static size_t staging_offset(size_t size)
{
    size_t old = old_size();
    size_t min = old > size ? old : size;
    size_t unit = nvm_unit(&board_nvm);
    size_t offset = size < partition.len ? (partition.len - size) / unit * unit : 0;
    return offset >= min ? offset : 0;
}

static bool move(const struct journal *image)
{
    for (size_t offset = 0; offset < image->size; offset += NVM_CHUNK) {
        _Alignas(uint64_t) uint8_t chunk[NVM_CHUNK];
        memcpy(chunk, at(image->from + offset), sizeof(chunk));
        if ((board_nvm.erase_unit != 0 && offset % nvm_unit(&board_nvm) == 0 &&
             !nvm_clear(&board_nvm, at(offset))) ||
            !nvm_write(&board_nvm, at(offset), chunk)) {
            return false;
        }
    }
    return true;
}

static bool read_journal(struct journal *journal)
{
    if (board_nvm.write == NULL) {
        return false;
    }
    memcpy(journal, journal_address(), sizeof(*journal));
    return journal->magic == JOURNAL_MAGIC && journal->check == check(journal) &&
           journal->size <= journal->from && journal->from <= partition.len &&
           journal->size <= partition.len - journal->from &&
           journal->from % nvm_unit(&board_nvm) == 0;
}

/** Replay the journal, if any; replaying it twice is harmless. */
static bool replay_journal(void)
{
    struct journal journal;
    if (!read_journal(&journal)) {
        return true;
    }
    bool done = journal.size != 0 ? move(&journal) : nvm_clear(&board_nvm, at(0));
    return done && nvm_clear(&board_nvm, journal_address());
}

#ifdef BOARD_EMULATED_ROMFS
#include "emulator.h"

/** Find the image of a flash chip without a driver, which the emulator maps. */
static bool find_emulated(void)
{
    uint32_t first;
    bool found = emulator_present() && fault_guarded_read((void *)BOARD_EMULATED_ROMFS, &first) &&
                 memcmp(&first, image_start, sizeof(image_start)) == 0;
    if (found) {
        partition.items = (void *)BOARD_EMULATED_ROMFS;
        partition.len = BOARD_EMULATED_ROMFS_SIZE;
    }
    return found;
}
#else
static bool find_emulated(void)
{
    return false;
}
#endif

static bool is_emulated(void)
{
    return partition.items != (void *)_romfs_start;
}

/** Is a journal pending from an earlier deploy? Then there is no valid image at the start. */
static bool is_broken(void)
{
    struct journal journal;
    return deploy.size == 0 && !is_emulated() && read_journal(&journal);
}

void romfs_start(void)
{
    partition.items = _romfs_start;
    partition.len = (size_t)(_romfs_end - _romfs_start) - nvm_unit(&board_nvm);
    deploy.size = 0;
    if (!find_emulated()) {
        (void)replay_journal(); // the journal of a move that fails stays, for the next start
    }
}

/** Unmount the file system mounted at the start. */
static void unmount(void)
{
    mp_vfs_mount_t *mount = MP_STATE_VM(vfs_mount_table);
    while (mount != NULL && (mount->len != strlen("/rom") || strcmp(mount->str, "/rom") != 0 ||
                             !mp_obj_is_type(mount->obj, &mp_type_vfs_rom))) {
        mount = mount->next;
    }
    if (mount != NULL) {
        mp_vfs_umount(mount->obj);
    }
}

/** After an error the program may continue, but the mounted image may be gone. */
static void expect_written(bool written)
{
    if (!written) {
        deploy.size = 0;
        if (is_broken()) {
            unmount();
        }
        refuse(MP_EIO, "write to the memory of the ROM file system failed");
    }
}

/* --- A deploy -------------------------------------------------------------- */

/** Write a chunk, clearing its units first if needed. */
static void put(size_t offset, const uint8_t *chunk)
{
    size_t unit = offset / nvm_unit(&board_nvm) * nvm_unit(&board_nvm);
    deploy.cleared = deploy.cleared > unit ? deploy.cleared : unit;
    for (; board_nvm.erase_unit != 0 && deploy.cleared < offset + NVM_CHUNK;
         deploy.cleared += board_nvm.erase_unit) {
        expect_written(nvm_clear(&board_nvm, at(deploy.target + deploy.cleared)));
    }
    expect_written(nvm_write(&board_nvm, at(deploy.target + offset), chunk));
}

/** The header is written last, so that an incomplete image is never mounted. */
static void end_chunk(void)
{
    if (deploy.at != 0) {
        put(deploy.at, deploy.chunk);
    }
}

static void write_journal(size_t from, size_t size)
{
    struct journal journal = {JOURNAL_MAGIC, from, size, 0};
    journal.check = check(&journal);
    memset(deploy.chunk, 0xFF, sizeof(deploy.chunk));
    memcpy(deploy.chunk, &journal, sizeof(journal));
    expect_written(nvm_clear(&board_nvm, journal_address()));
    expect_written(nvm_write(&board_nvm, journal_address(), deploy.chunk));
}

static mp_obj_t prepare(size_t n_args, const mp_obj_t *args)
{
    mp_uint_t size = n_args < 3 ? 0 : (mp_uint_t)mp_obj_get_int(args[2]);
    if (size == 0 || size > partition.len) {
        refuse(MP_EINVAL, "an image of %u bytes, expected 1 to %u", (unsigned)size,
               (unsigned)partition.len);
    }
    bool broken = is_broken();
    deploy.target = broken ? 0 : staging_offset(size);
    deploy.size = size;
    deploy.next = 0;
    deploy.at = 0;
    deploy.cleared = nvm_unit(&board_nvm);
    memset(deploy.head, 0xFF, sizeof(deploy.head));
    if (broken) { // without its journal, a half-moved image would count as valid
        expect_written(nvm_clear(&board_nvm, at(0)));
    }
    if (deploy.target == 0) {
        unmount();
        write_journal(0, 0);
    }
    expect_written(nvm_clear(&board_nvm, at(deploy.target)));
    return MP_OBJ_NEW_SMALL_INT(WRITE_UNIT);
}

static void fill(size_t offset, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        size_t inside = offset % NVM_CHUNK;
        if (offset - inside != deploy.at) {
            end_chunk();
            deploy.at = offset - inside;
            memset(deploy.chunk, 0xFF, sizeof(deploy.chunk));
        }
        size_t part = size < NVM_CHUNK - inside ? size : NVM_CHUNK - inside;
        memcpy((deploy.at == 0 ? deploy.head : deploy.chunk) + inside, bytes, part);
        offset += part;
        bytes += part;
        size -= part;
    }
    deploy.next = offset;
}

static void expect_deploy(bool arguments)
{
    if (!arguments || deploy.size == 0) {
        refuse(MP_EINVAL, "no image is being written: begin with rom_ioctl(3, 0, size)");
    }
}

/** The offset of a request must follow the last one, as flash chunks can be written only once. */
static size_t expect_next(mp_obj_t argument)
{
    mp_uint_t offset = (mp_uint_t)mp_obj_get_int(argument);
    if (offset != deploy.next) {
        refuse(MP_EINVAL, "image data for byte %u, expected byte %u", (unsigned)offset,
               (unsigned)deploy.next);
    }
    return offset;
}

static mp_obj_t write(size_t n_args, const mp_obj_t *args)
{
    expect_deploy(n_args > 3);
    size_t offset = expect_next(args[2]);
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(args[3], &buffer, MP_BUFFER_READ);
    // mpremote pads its last block, past the end of the image.
    size_t room = deploy.size - offset;
    fill(offset, buffer.buf, buffer.len < room ? buffer.len : room);
    return MP_OBJ_NEW_SMALL_INT(0);
}

static mp_obj_t keep(size_t n_args, const mp_obj_t *args)
{
    expect_deploy(n_args > 3);
    size_t offset = expect_next(args[2]);
    mp_uint_t size = (mp_uint_t)mp_obj_get_int(args[3]);
    size_t unit = nvm_unit(&board_nvm);
    bool ends = size == deploy.size - offset || (size < deploy.size - offset && size % unit == 0);
    if (offset == 0 || offset % unit != 0 || !ends) {
        refuse(MP_EINVAL, "can't keep %u bytes from byte %u: expected whole units of %u bytes",
               (unsigned)size, (unsigned)offset, (unsigned)unit);
    }
    deploy.next = offset + size;
    return MP_OBJ_NEW_SMALL_INT(0);
}

static mp_obj_t complete(void)
{
    expect_deploy(true);
    if (deploy.next != deploy.size) {
        refuse(MP_EINVAL, "received %u bytes of the image, expected %u", (unsigned)deploy.next,
               (unsigned)deploy.size);
    }
    end_chunk();
    put(0, deploy.head);
    if (deploy.target != 0) {
        write_journal(deploy.target, deploy.size);
        expect_written(replay_journal());
    } else {
        expect_written(nvm_clear(&board_nvm, journal_address()));
    }
    deploy.size = 0;
    return MP_OBJ_NEW_SMALL_INT(0);
}

static mp_obj_t query_keeps_old(size_t n_args, const mp_obj_t *args)
{
    mp_uint_t size = n_args < 3 ? 0 : (mp_uint_t)mp_obj_get_int(args[2]);
    return MP_OBJ_NEW_SMALL_INT(size != 0 && staging_offset(size) != 0);
}

static mp_obj_t query_target(size_t n_args, const mp_obj_t *args)
{
    mp_uint_t size = n_args < 3 ? 0 : (mp_uint_t)mp_obj_get_int(args[2]);
    bool fits = size != 0 && size <= partition.len;
    return fits ? mp_obj_new_int_from_uint(staging_offset(size)) : failure(MP_EINVAL);
}

/** Commands that change the image or query a change; -EINVAL for unknown commands. */
static mp_obj_t change(mp_int_t command, size_t n_args, const mp_obj_t *args)
{
    bool known =
        (command >= MP_VFS_ROM_IOCTL_WRITE_PREPARE && command <= MP_VFS_ROM_IOCTL_WRITE_COMPLETE) ||
        (command >= ROM_IOCTL_KEEPS_OLD && command <= ROM_IOCTL_KEEP);
    if (known && is_emulated()) {
        refuse(MP_EROFS, "/rom is in a flash chip that only the emulator has: it is read-only");
    }
    if (known && board_nvm.write == NULL) {
        refuse(MP_EROFS, "%s",
               board_nvm.why_not != NULL ? board_nvm.why_not
                                         : "the ROM file system of this board is read-only");
    }
    if (known && command != MP_VFS_ROM_IOCTL_WRITE_PREPARE && is_broken()) {
        refuse(MP_EIO, "the last image was not moved into place: reset to try again, or "
                       "drop it with rom_ioctl(3, 0, 1)");
    }
    switch (command) {
    case MP_VFS_ROM_IOCTL_WRITE_PREPARE:
        return prepare(n_args, args);
    case MP_VFS_ROM_IOCTL_WRITE:
        return write(n_args, args);
    case MP_VFS_ROM_IOCTL_WRITE_COMPLETE:
        return complete();
    case ROM_IOCTL_KEEPS_OLD:
        return query_keeps_old(n_args, args);
    case ROM_IOCTL_TARGET:
        return query_target(n_args, args);
    case ROM_IOCTL_KEEP:
        return keep(n_args, args);
    default:
        return failure(MP_EINVAL);
    }
}

mp_obj_t mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args)
{
    mp_int_t command = mp_obj_get_int(args[0]);
    if (command == MP_VFS_ROM_IOCTL_GET_NUMBER_OF_SEGMENTS) {
        return MP_OBJ_NEW_SMALL_INT(1);
    }
    if (n_args < 2 || mp_obj_get_int(args[1]) != 0) {
        return failure(MP_EINVAL);
    }
    if (command == MP_VFS_ROM_IOCTL_GET_SEGMENT) {
        uint32_t first; // unconfigured flash faults; the prompt must start even without a ROM
        bool there = (board_nvm.is_there == NULL || board_nvm.is_there() || is_emulated()) &&
                     fault_guarded_read(partition.items, &first) && !is_broken();
        return there ? MP_OBJ_FROM_PTR(&partition) : failure(MP_ENODEV);
    }
    return change(command, n_args, args);
}
