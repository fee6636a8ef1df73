// SPDX-License-Identifier: MIT
/** The bytes of a model; see source.h. */
#include "source.h"

#include "arguments.h"
#include "pin.h"
#include "py/builtin.h"
#include "py/mperrno.h"
#include "py/runtime.h"
#include "py/stream.h"
#include "raise.h"

/** Move in a file; returns the new position. Raises OSError. */
static mp_off_t seek(mp_obj_t file, mp_off_t offset, int whence)
{
    struct mp_stream_seek_t request = {.offset = offset, .whence = whence};
    int error;
    const mp_stream_p_t *stream = mp_get_stream_raise(file, MP_STREAM_OP_IOCTL);
    if (stream->ioctl(file, MP_STREAM_SEEK, (mp_uint_t)(uintptr_t)&request, &error) ==
        MP_STREAM_ERROR) {
        mp_raise_OSError(error);
    }
    return request.offset;
}

/** Read a whole file into memory whose first byte is aligned for the NPU. */
static void read_file(mp_obj_t file, struct source *source)
{
    size_t size = (size_t)seek(file, 0, MP_SEEK_END);
    seek(file, 0, MP_SEEK_SET);
    // The collector's blocks are aligned to 16 bytes, as the NPU wants it.
    uint8_t *data = m_new(uint8_t, MAX(size, 1));
    int error;
    mp_uint_t got = mp_stream_rw(file, data, size, &error, MP_STREAM_RW_READ);
    if (error != 0) {
        mp_raise_OSError(error);
    }
    source->data = data;
    source->size = got;
    source->copied = true;
    source->may_change = false;
}

bool source_may_change(mp_obj_t owner, const mp_buffer_info_t *buffer)
{
    mp_buffer_info_t unused;
    if (mp_obj_is_type(owner, &mp_type_bytes)) {
        return false;
    }
    // A view that is read-only may be one of a bytearray, or a file of a ROMFS in one.
    return pin_is_on_heap(buffer->buf) || mp_get_buffer(owner, &unused, MP_BUFFER_WRITE);
}

/** Open a file; an OSError names its path. */
static mp_obj_t open_file(mp_obj_t path)
{
    mp_obj_t args[] = {path, MP_OBJ_NEW_QSTR(MP_QSTR_rb)};
    nlr_buf_t nlr;
    if (nlr_push(&nlr) == 0) {
        mp_obj_t file = mp_builtin_open(MP_ARRAY_SIZE(args), args, (mp_map_t *)&mp_const_empty_map);
        nlr_pop();
        return file;
    }
    mp_obj_t raised = MP_OBJ_FROM_PTR(nlr.ret_val);
    mp_int_t number;
    if (mp_obj_is_exact_type(raised, &mp_type_OSError) &&
        mp_obj_get_int_maybe(mp_obj_exception_get_value(raised), &number)) {
        binding_raise_os_error((int)number, "'%.80s' cannot be opened", mp_obj_str_get_str(path));
    }
    nlr_jump(nlr.ret_val);
}

void source_open(mp_obj_t from, const char *what, struct source *source)
{
    mp_buffer_info_t buffer;
    mp_obj_t holder = from;
    if (mp_obj_is_str(from)) {
        holder = open_file(from);
        // A file in ROMFS is in memory: its buffer is that memory, not a copy.
        if (!mp_get_buffer(holder, &buffer, MP_BUFFER_READ)) {
            read_file(holder, source);
            mp_stream_close(holder);
            return;
        }
    } else {
        binding_get_buffer(from, &buffer, MP_BUFFER_READ, what);
    }
    *source = (struct source){buffer.buf, buffer.len, false, source_may_change(holder, &buffer)};
}
