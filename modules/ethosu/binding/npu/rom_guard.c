// SPDX-License-Identifier: MIT
/**
 * Writing to the ROM file system, which the models in it do not survive: the linker puts this
 * function before MicroPython's (`--wrap`, see micropython.mk).
 */
#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "extmod/vfs.h"
#include "py/mperrno.h"
#include "py/runtime.h"

#if MICROPY_VFS_ROM_IOCTL

mp_obj_t __wrap_mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args);
mp_obj_t __real_mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args);

/** End the models in a segment of the ROM. */
static void end_models(mp_obj_t segment)
{
    const mp_obj_t args[] = {MP_OBJ_NEW_SMALL_INT(MP_VFS_ROM_IOCTL_GET_SEGMENT), segment};
    mp_obj_t memory = __real_mp_vfs_rom_ioctl(MP_ARRAY_SIZE(args), args);
    mp_buffer_info_t buffer;
    if (mp_get_buffer(memory, &buffer, MP_BUFFER_READ)) {
        pin_invalidate(buffer.buf, buffer.len);
    }
}

mp_obj_t __wrap_mp_vfs_rom_ioctl(size_t n_args, const mp_obj_t *args)
{
    mp_int_t command = mp_obj_get_int(args[0]);
    bool writes = command == MP_VFS_ROM_IOCTL_WRITE_PREPARE || command == MP_VFS_ROM_IOCTL_WRITE ||
                  command == MP_VFS_ROM_IOCTL_WRITE_COMPLETE;
    if (writes && n_args > 1) {
        if (npus_are_busy()) {
            // mpremote ignores the result of a write
            binding_raise_os_error(MP_EBUSY, "an NPU is busy: write the ROM file system when "
                                             "its inference has ended");
        }
        end_models(args[1]);
    }
    return __real_mp_vfs_rom_ioctl(n_args, args);
}

#endif
