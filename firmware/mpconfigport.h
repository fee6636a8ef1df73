// SPDX-License-Identifier: MIT
/** MicroPython's configuration, common to all boards. */
#include <alloca.h>
#include <stdint.h>

#include "cpu.h"
#include "releases.h"

#define MICROPY_CONFIG_ROM_LEVEL (MICROPY_CONFIG_ROM_LEVEL_EXTRA_FEATURES)

// Types and the core.
typedef long mp_off_t;
#define MP_SSIZE_MAX (0x7fffffff)
#define MP_STATE_PORT MP_STATE_VM
// Native code is written as data and fetched as instructions, so py/emitglue.c needs this, and
// __ICACHE_PRESENT and SCB_InvalidateICache() of CMSIS.
#define MP_HAL_CLEAN_DCACHE(address, size) \
    (SCB_CleanDCache_by_Addr((volatile void *)(uintptr_t)(address), (int32_t)(size)))
#define MICROPY_MAKE_POINTER_CALLABLE(p) ((void *)((mp_uint_t)(p) | 1))
#ifndef MICROPY_EMIT_THUMB // a board's core may have other instructions
#define MICROPY_EMIT_THUMB (1)
#define MICROPY_EMIT_INLINE_THUMB (1)
#endif
#define MICROPY_PERSISTENT_CODE_LOAD (1)
#define MICROPY_LONGINT_IMPL (MICROPY_LONGINT_IMPL_MPZ)
#define MICROPY_FLOAT_IMPL (MICROPY_FLOAT_IMPL_DOUBLE)
#define MP_NEED_LOG2 (1)
#define MICROPY_OPT_COMPUTED_GOTO (1)

// Memory.
#define MICROPY_ENABLE_GC (1)
// Half as many blocks to mark and to sweep as with 16 bytes. New blocks are cleared, as by default:
// soft timers of MicroPython 1.25 rely on it.
#define MICROPY_BYTES_PER_GC_BLOCK (32)
#define MICROPY_STACK_CHECK_MARGIN (0)
// From 1.27 on, callbacks of timers with `hard=True` run in the interrupt, on its stack of 2 KB.
#define MICROPY_STACK_SIZE_HARD_IRQ (1024)
#define MICROPY_ENABLE_EMERGENCY_EXCEPTION_BUF (1)
#define MICROPY_EMERGENCY_EXCEPTION_BUF_SIZE (256)
#define MICROPY_MEM_STATS (0)

// Prompt and scheduler.
#define MICROPY_READER_VFS (1)
#define MICROPY_REPL_STDIN_BUFFER_MAX (4096)
#define MICROPY_SCHEDULER_DEPTH (8)
#define MICROPY_SCHEDULER_STATIC_NODES (1)
#define MICROPY_MODULE_BUILTIN_INIT (1)
#define MICROPY_ENABLE_SOURCE_LINE (1)
#define MICROPY_ERROR_REPORTING (MICROPY_ERROR_REPORTING_DETAILED)
#define MICROPY_WARNINGS (1)

// Files.
#define MICROPY_VFS (1)
#define MICROPY_VFS_ROM (1)
#define MICROPY_VFS_ROM_IOCTL (1)
// FAT, for SD cards. Long names are put together on the stack, because a block device written in
// Python may be a file of another FAT.
#define MICROPY_FATFS_ENABLE_LFN (2)
#define MICROPY_FATFS_LFN_CODE_PAGE 437 // FatFs makes a name of it
#define MICROPY_FATFS_RPATH (2)
#define MICROPY_FATFS_MAX_SS (4096) // blocks of machine.Flash and machine.RAMDisk

// Modules.
#define MICROPY_PY_SYS_PLATFORM BOARD_PLATFORM
#define MICROPY_HW_BOARD_NAME BOARD_NAME
#define MICROPY_HW_MCU_NAME BOARD_MCU_NAME
#define MICROPY_PY_OS_UNAME (1)
#define MICROPY_EPOCH_IS_1970 (1)
#define MICROPY_PY_TIME_GMTIME_LOCALTIME_MKTIME (1)
#define MICROPY_PY_TIME_TIME_TIME_NS (1)
#define MICROPY_PY_TIME_INCLUDEFILE "firmware/port/modtime.c"
#define MICROPY_PY_MACHINE (1)
#define MICROPY_PY_MACHINE_INCLUDEFILE "firmware/port/modmachine.c"
#define MICROPY_PY_MACHINE_RESET (1)
#define MICROPY_PY_MACHINE_BARE_METAL_FUNCS (1)
#define MICROPY_PY_MACHINE_DISABLE_IRQ_ENABLE_IRQ (1)
#define MICROPY_PY_MACHINE_MEMX (1)
#define MICROPY_PY_MACHINE_PIN_BASE (0)
#define MICROPY_PY_MACHINE_SIGNAL (0)
#define MICROPY_PY_MACHINE_PULSE (0)
#define MICROPY_PY_MACHINE_TIMER (1)

// Numbers of errors as MicroPython's other ports have them, not the C library's.
#define MICROPY_USE_INTERNAL_ERRNO (1)
// Named errors. MicroPython's own list lacks file and NPU errors.
// clang-format off: it takes the list for nested calls.
#define MICROPY_PY_ERRNO_LIST \
    X(EPERM) X(ENOENT) X(EIO) X(EBADF) X(EAGAIN) X(ENOMEM) X(EACCES) X(EFAULT) X(EBUSY) \
    X(EEXIST) X(ENODEV) X(ENOTDIR) X(EISDIR) X(EINVAL) X(ENOSPC) X(EROFS) X(EOPNOTSUPP) \
    X(EADDRINUSE) X(ECONNABORTED) X(ECONNRESET) X(ENOBUFS) X(ENOTCONN) X(ETIMEDOUT) \
    X(ECONNREFUSED) X(EHOSTUNREACH) X(EALREADY) X(EINPROGRESS) X(ECANCELED)
// clang-format on
