// SPDX-License-Identifier: MIT
/** See semihosting.h. */
#include "pc/semihosting.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/message.h"
#include "base/qemu_api.h"
#include "board/machine.h"
#include "cpu/cpu_exceptions.h"
#include "pc/semihosting_files.h"

#define CALL_SIZE 2u /**< of BKPT 0xAB */
#define PC 15

#define ANSWER_MAX 32

/** Handles that are open at a time, the console's included. */
#define HANDLES 256
/** Bytes that may be written to files. */
#define WRITTEN_MAX (UINT64_C(1) << 30)

/** The console's name, and that of a file with the features (SYS_OPEN). */
#define CONSOLE ":tt"
#define FEATURES ":semihosting-features"
/** Its content: SH_EXT_EXIT_EXTENDED and SH_EXT_STDOUT_STDERR, after the magic number. */
static const uint8_t features[] = {'S', 'H', 'F', 'B', 0x03};

static struct semihosting_heap heap_info;
static bool has_one_console;
static bool is_file[HANDLES];
static uint64_t written;
/** Of the last call that failed; -1: QEMU knows it. */
static int last_error = -1;

/* --- The guest -------------------------------------------------------------------- */

static uint32_t get_register(void *cpu, int number)
{
    static GByteArray *bytes;
    uint32_t value = 0;
    bytes = bytes ? bytes : g_byte_array_new();
    g_byte_array_set_size(bytes, 0);
    if (arm_cpu_gdb_read_register(cpu, bytes, number) == sizeof value) {
        memcpy(&value, bytes->data, sizeof value);
    }
    return value;
}

static void set_register(void *cpu, int number, uint32_t value)
{
    uint8_t bytes[sizeof value];
    memcpy(bytes, &value, sizeof bytes);
    arm_cpu_gdb_write_register(cpu, bytes, number);
}

static bool read_guest(void *cpu, uint32_t address, void *to, size_t size)
{
    return cpu_memory_rw_debug(cpu, address, to, size, false) == 0;
}

/** Write up to ANSWER_MAX bytes. QEMU does not say whether there is memory, unless it reads it. */
static bool write_guest(void *cpu, uint32_t address, const void *from, size_t size)
{
    uint8_t old[ANSWER_MAX];
    return read_guest(cpu, address, old, size) &&
           cpu_memory_rw_debug(cpu, address, (void *)(uintptr_t)from, size, true) == 0;
}

/** Read a name, once, since an NPU may change it meanwhile. False with errno. */
static bool read_name(void *cpu, uint32_t address, uint32_t length, char name[PATH_MAX])
{
    if (length >= PATH_MAX) {
        errno = ENAMETOOLONG;
    } else if (!read_guest(cpu, address, name, length + 1)) {
        errno = EFAULT;
    } else if (memchr(name, '\0', length + 1) != name + length) {
        errno = EINVAL;
    } else {
        return true;
    }
    return false;
}

/* --- What each call returns: FAILED with errno, or QEMU_ANSWERS ---------------------- */

#define FAILED INT64_C(0xFFFFFFFF)
#define QEMU_ANSWERS (-1)

/** A handle for a file of the host, or for the features. */
static int64_t new_handle(int file)
{
    int handle = alloc_guestfd();
    if (handle < 0 || handle >= HANDLES) {
        errno = EMFILE;
        return FAILED;
    }
    if (file < 0) {
        staticfile_guestfd(handle, features, sizeof features);
    } else {
        associate_guestfd(handle, file);
    }
    is_file[handle] = file > STDERR_FILENO;
    return handle;
}

/** fopen()'s modes, each also with "b". */
static int64_t open_named(const char *name, uint32_t mode)
{
    static const int flags[] = {
        O_RDONLY,                      // r
        O_RDWR,                        // r+
        O_WRONLY | O_CREAT | O_TRUNC,  // w
        O_RDWR | O_CREAT | O_TRUNC,    // w+
        O_WRONLY | O_CREAT | O_APPEND, // a
        O_RDWR | O_CREAT | O_APPEND,   // a+
    };
    static const int consoles[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    if (mode / 2 >= sizeof flags / sizeof flags[0]) {
        errno = EINVAL;
        return FAILED;
    }
    if (strcmp(name, CONSOLE) == 0) {
        int file = consoles[mode / 4];
        return new_handle(has_one_console && file == STDERR_FILENO ? STDOUT_FILENO : file);
    }
    if (strcmp(name, FEATURES) == 0) {
        errno = EACCES;
        return mode / 2 == 0 ? new_handle(-1) : FAILED;
    }
    int file = semihosting_files_open(name, flags[mode / 2]);
    int64_t handle = file < 0 ? FAILED : new_handle(file);
    if (file >= 0 && handle == FAILED) {
        close(file);
        errno = EMFILE;
    }
    return handle;
}

static int64_t sys_open(void *cpu, const uint32_t *block)
{
    char name[PATH_MAX];
    return read_name(cpu, block[0], block[2], name) ? open_named(name, block[1]) : FAILED;
}

/** QEMU writes; this limits how much. The call returns the number of bytes that were not written.
 */
static int64_t sys_write(void *cpu, const uint32_t *block)
{
    (void)cpu;
    if (block[0] >= HANDLES || !is_file[block[0]]) {
        return QEMU_ANSWERS;
    }
    if (block[2] > WRITTEN_MAX - written) {
        message(MESSAGE_GUEST_ERROR,
                "semihosting: SYS_WRITE of %u bytes is refused: firmware may write 1 GiB to files",
                (unsigned)block[2]);
        last_error = errno = ENOSPC;
        return block[2];
    }
    written += block[2];
    return QEMU_ANSWERS;
}

static int64_t sys_tmpnam(void *cpu, const uint32_t *block)
{
    char name[ANSWER_MAX];
    int length = snprintf(name, sizeof name, "semihosting-%x-%02x.tmp", (unsigned)getpid(),
                          (unsigned)block[1] & 0xFF);
    errno = EFAULT;
    return (uint32_t)length < block[2] && write_guest(cpu, block[0], name, (size_t)length + 1)
               ? 0
               : FAILED;
}

static int64_t sys_remove(void *cpu, const uint32_t *block)
{
    char name[PATH_MAX];
    bool done = read_name(cpu, block[0], block[1], name) && semihosting_files_remove(name) == 0;
    return done ? 0 : FAILED;
}

static int64_t sys_rename(void *cpu, const uint32_t *block)
{
    char from[PATH_MAX], to[PATH_MAX];
    bool done = read_name(cpu, block[0], block[1], from) &&
                read_name(cpu, block[2], block[3], to) && semihosting_files_rename(from, to) == 0;
    return done ? 0 : FAILED;
}

static int64_t sys_system(void *cpu, const uint32_t *block)
{
    (void)cpu;
    (void)block;
    message(MESSAGE_GUEST_ERROR, "semihosting: SYS_SYSTEM is refused: firmware runs no commands");
    errno = EPERM;
    return FAILED;
}

static int64_t sys_heapinfo(void *cpu, const uint32_t *block)
{
    errno = EFAULT;
    return write_guest(cpu, block[0], &heap_info, sizeof heap_info) ? 0 : FAILED;
}

static int64_t sys_errno(void *cpu, const uint32_t *block)
{
    (void)cpu;
    (void)block;
    return last_error < 0 ? QEMU_ANSWERS : last_error;
}

/* --- The calls ---------------------------------------------------------------------- */

enum operation {
    SYS_OPEN = 0x01,
    SYS_WRITEC = 0x03,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_TMPNAM = 0x0D,
    SYS_REMOVE = 0x0E,
    SYS_RENAME = 0x0F,
    SYS_SYSTEM = 0x12,
    SYS_ERRNO = 0x13,
    SYS_HEAPINFO = 0x16,
};

static const struct call {
    enum operation operation;
    unsigned words; /**< of its block */
    int64_t (*answer)(void *cpu, const uint32_t *block);
} calls[] = {
    {SYS_OPEN, 3, sys_open},     {SYS_WRITE, 3, sys_write},       {SYS_TMPNAM, 3, sys_tmpnam},
    {SYS_REMOVE, 2, sys_remove}, {SYS_RENAME, 4, sys_rename},     {SYS_SYSTEM, 0, sys_system},
    {SYS_ERRNO, 0, sys_errno},   {SYS_HEAPINFO, 1, sys_heapinfo},
};
#define WORDS_MAX 4

static int64_t answer(void *cpu, uint32_t operation)
{
    uint32_t block[WORDS_MAX] = {0};
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        if (calls[i].operation == operation) {
            size_t size = calls[i].words * sizeof block[0];
            errno = EFAULT;
            bool is_read = size == 0 || read_guest(cpu, get_register(cpu, 1), block, size);
            return is_read ? calls[i].answer(cpu, block) : FAILED;
        }
    }
    return QEMU_ANSWERS;
}

static void on_exception(void *cpu)
{
    uint32_t operation = get_register(cpu, 0);
    bool is_ours =
        cpu_exception(cpu) == CPU_SEMIHOSTING && (operation == SYS_HEAPINFO || !use_gdb_syscalls());
    int64_t result = is_ours ? answer(cpu, operation) : QEMU_ANSWERS;
    if (result == QEMU_ANSWERS) {
        if (is_ours && operation != SYS_ERRNO && operation != SYS_WRITEC &&
            operation != SYS_WRITE0) {
            last_error = -1;
        }
        arm_v7m_cpu_do_interrupt(cpu);
        return;
    }
    if (result == FAILED) {
        last_error = errno;
    }
    set_register(cpu, 0, (uint32_t)result);
    set_register(cpu, PC, get_register(cpu, PC) + CALL_SIZE);
}

void semihosting_create(const struct semihosting_heap *heap, bool one_console, const char *folder)
{
    Object *cpu = machine_cortex_m();
    if (!cpu) {
        return;
    }
    heap_info = *heap;
    has_one_console = one_console;
    semihosting_files_choose(folder);
    cpu_exceptions_handle(cpu, on_exception);
}
