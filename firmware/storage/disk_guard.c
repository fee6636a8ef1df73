// SPDX-License-Identifier: MIT
/** Errors of block devices, through LittleFS and out of it; see disk_guard.h. */
#include "disk_guard.h"

#include "irq.h"
#include "py/mperrno.h"
#include "py/runtime.h"
#include "py/stream.h"

/** LFS2_BLOCK_NULL of lfs2.c: the folder of an open file that was removed. */
#define NONE UINT32_MAX
/** The folder of a file that has lost its place: no disk has this block. */
#define NOWHERE (UINT32_MAX - 1u)
/** An operation that has found more bad blocks than this has no disk. */
#define MAX_BAD_BLOCKS 8u

/** MicroPython's functions that call a device's methods: the same for all devices. */
static struct lfs2_config device;

/** Since the end of the last operation: blocks that could not be written, and any error. */
static unsigned bad_blocks;
static bool has_failed;

static mp_obj_t take_pending(void)
{
    uint32_t state = irq_mask(); // Ctrl-C is an interrupt
    mp_obj_t exception = MP_STATE_THREAD(mp_pending_exception);
    MP_STATE_THREAD(mp_pending_exception) = MP_OBJ_NULL;
    irq_restore(state);
    return exception;
}

static int keep(void *exception)
{
    uint32_t state = irq_mask();
    if (MP_STATE_THREAD(mp_pending_exception) == MP_OBJ_NULL) { // else it is Ctrl-C
        mp_sched_exception(MP_OBJ_FROM_PTR(exception));
    }
    irq_restore(state);
    return -MP_EINTR;
}

/** A positive result would be an error for LittleFS, and none for MicroPython. */
static int judge(int status)
{
    has_failed = has_failed || status != 0;
    return status > 0 ? -MP_EINVAL : status;
}

static int judge_change(int status)
{
    status = judge(status);
    return status == -MP_EIO && ++bad_blocks <= MAX_BAD_BLOCKS ? LFS2_ERR_CORRUPT : status;
}

/** Return what the call returns, or the exception that it raises. */
#define RETURN_GUARDED(judge, call)          \
    do {                                     \
        nlr_buf_t nlr;                       \
        if (block == NOWHERE) {              \
            return -MP_EIO;                  \
        }                                    \
        if (nlr_push(&nlr) != 0) {           \
            return judge(keep(nlr.ret_val)); \
        }                                    \
        int status = call;                   \
        nlr_pop();                           \
        return judge(status);                \
    } while (0)

static int guarded_read(const struct lfs2_config *config, lfs2_block_t block, lfs2_off_t offset,
                        void *bytes, lfs2_size_t size)
{
    RETURN_GUARDED(judge, device.read(config, block, offset, bytes, size));
}

static int guarded_prog(const struct lfs2_config *config, lfs2_block_t block, lfs2_off_t offset,
                        const void *bytes, lfs2_size_t size)
{
    RETURN_GUARDED(judge_change, device.prog(config, block, offset, bytes, size));
}

static int guarded_erase(const struct lfs2_config *config, lfs2_block_t block)
{
    RETURN_GUARDED(judge_change, device.erase(config, block));
}

static int guarded_sync(const struct lfs2_config *config)
{
    const lfs2_block_t block = 0;
    RETURN_GUARDED(judge, device.sync(config));
}

struct lfs2_config *disk_guard(struct lfs2_config *config)
{
    device = *config;
    config->read = guarded_read;
    config->prog = guarded_prog;
    config->erase = guarded_erase;
    config->sync = guarded_sync;
    return config;
}

/**
 * Is an open file's or folder's copy of its metadata no longer that of the disk? Then its number in
 * the folder may be another file's.
 */
static bool lost_its_place(lfs2_t *lfs, const lfs2_mdir_t *known)
{
    if (known->pair[0] == NONE) {
        return false;
    }
    lfs2_dir_t folder = {.head = {known->pair[0], known->pair[1]}};
    return lfs2_dir_rewind(lfs, &folder) < 0 || folder.m.rev != known->rev ||
           folder.m.off != known->off || folder.m.etag != known->etag;
}

/** Mount what is on the disk now, below the open files. */
static void look_again(lfs2_t *lfs)
{
    const lfs2_t before = *lfs;
    if ((lfs2_mount)(lfs, before.cfg) < 0) { // not the macro
        *lfs = before;
        lfs->gstate = lfs->gdisk;
        lfs->gdelta = (lfs2_gstate_t){0};
        lfs->rcache.block = lfs->pcache.block = NONE; // other blocks were read into their memory
        return;
    }
    lfs->mlist = before.mlist;
    for (struct lfs2_mlist *open = lfs->mlist; open != NULL; open = open->next) {
        if (lost_its_place(lfs, &open->m)) {
            open->m.pair[0] = open->m.pair[1] = NOWHERE;
        }
    }
}

/** The same without an exception pending, at which a device written in Python would end. */
static void look_again_undisturbed(lfs2_t *lfs)
{
    mp_obj_t exception = take_pending();
    look_again(lfs);
    if (exception != MP_OBJ_NULL) {
        (void)keep(MP_OBJ_TO_PTR(exception));
    }
}

int disk_guard_end(lfs2_t *lfs, int result)
{
    if (result < 0) {
        if (has_failed || result == LFS2_ERR_NOSPC) {
            look_again_undisturbed(lfs);
        }
        if (bad_blocks != 0 && (result == LFS2_ERR_NOSPC || result == LFS2_ERR_CORRUPT)) {
            result = -MP_EIO;
        }
    }
    has_failed = false;
    bad_blocks = 0;
    return result;
}

int disk_guard_raise(int result)
{
    if (result == -MP_EINTR) {
        mp_raise_OSError(MP_EINTR);
    }
    return result;
}

/**
 * Takes the place of mp_stream_rw() in MicroPython's extmod/vfs_reader.c, which takes an error for
 * the end of the file: `import` would run the part of a module that was read.
 */
mp_uint_t disk_guard_read_module(mp_obj_t stream, void *bytes, mp_uint_t size, int *error,
                                 byte flags);
mp_uint_t disk_guard_read_module(mp_obj_t stream, void *bytes, mp_uint_t size, int *error,
                                 byte flags)
{
    mp_uint_t done = mp_stream_rw(stream, bytes, size, error, flags);
    if (*error != 0) {
        mp_raise_OSError(*error);
    }
    return done;
}

bool disk_guard_is_interrupted(void)
{
    mp_obj_t exception = MP_STATE_THREAD(mp_pending_exception);
    bool is_ctrl_c = exception == MP_OBJ_FROM_PTR(&MP_STATE_VM(mp_kbd_exception));
    return exception != MP_OBJ_NULL && !(is_ctrl_c && MP_STATE_VM(sched_state) < 0);
}

// The wrapper that MicroPython calls, and the original function (--wrap).
_Noreturn void __wrap_mp_raise_OSError(int error);
_Noreturn void __real_mp_raise_OSError(int error);

_Noreturn void __wrap_mp_raise_OSError(int error)
{
    if (error == MP_EINTR && disk_guard_is_interrupted()) {
        nlr_raise(take_pending());
    }
    __real_mp_raise_OSError(error);
}
