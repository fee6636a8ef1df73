// SPDX-License-Identifier: MIT
/**
 * See semihosting.h. QEMU handles a semihosting call as an exception of the CPU, in a function that
 * it calls through a table of its class. The class gets a copy of that table with our function,
 * which lets QEMU handle the exception first.
 */
#include "semihosting.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "machine.h"
#include "message.h"
#include "qemu_api.h"

#define CALL 0xBEABu /**< BKPT 0xAB */
#define CALL_SIZE 2u
#define SYS_OPEN 0x01u
#define SYS_HEAPINFO 0x16u
/** Modes of SYS_OPEN: 4 is "w", and 8 to 11 are "a", "ab", "a+" and "a+b". */
#define MODE_WRITE 4u
#define MODE_APPEND 8u
#define MODE_APPEND_LAST 11u
#define PC 15

/** Words of a class and of its table that are searched, and of the table that are copied. */
#define CLASS_WORDS 64u
#define TABLE_WORDS 32u

static struct semihosting_heap answer;
static bool has_one_console;
static void *table[TABLE_WORDS];

/* --- The call ------------------------------------------------------------------ */

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

static bool copy(void *cpu, uint32_t address, void *to, size_t size)
{
    return cpu_memory_rw_debug(cpu, address, to, size, false) == 0;
}

/** Is the CPU about to execute this call? */
static bool is_asked(void *cpu, uint32_t pc, uint32_t operation)
{
    uint16_t instruction = 0;
    return get_register(cpu, 0) == operation && copy(cpu, pc, &instruction, sizeof instruction) &&
           instruction == CALL;
}

/** Does this block of SYS_OPEN ask for the console that is stderr? */
static bool is_for_stderr(void *cpu, uint32_t block)
{
    struct {
        uint32_t name, mode, length;
    } fields;
    char name[sizeof ":tt"];
    return copy(cpu, block, &fields, sizeof fields) && fields.mode >= MODE_APPEND &&
           fields.mode <= MODE_APPEND_LAST && copy(cpu, fields.name, name, sizeof name) &&
           memcmp(name, ":tt", sizeof name) == 0;
}

/** Call QEMU's handler with another mode in the block, which gets its own one back. */
static void open_stdout(void *cpu, uint32_t block)
{
    uint32_t at = block + (uint32_t)sizeof(uint32_t), mode = 0, other = MODE_WRITE;
    copy(cpu, at, &mode, sizeof mode);
    cpu_memory_rw_debug(cpu, at, &other, sizeof other, true);
    arm_v7m_cpu_do_interrupt(cpu);
    cpu_memory_rw_debug(cpu, at, &mode, sizeof mode, true);
}

static void on_exception(void *cpu)
{
    uint32_t pc = get_register(cpu, PC), argument = get_register(cpu, 1), block;
    if (has_one_console && is_asked(cpu, pc, SYS_OPEN) && is_for_stderr(cpu, argument)) {
        open_stdout(cpu, argument);
        return;
    }
    bool asked = is_asked(cpu, pc, SYS_HEAPINFO);
    arm_v7m_cpu_do_interrupt(cpu);
    // Any other exception, such as an interrupt before the call, has gone to its handler.
    if (asked && get_register(cpu, PC) == pc + CALL_SIZE &&
        copy(cpu, argument, &block, sizeof block)) {
        cpu_memory_rw_debug(cpu, block, &answer, sizeof answer, true);
    }
}

/* --- The table ----------------------------------------------------------------- */

/** Does a table of this size at this address belong to the program? `data` is the address. */
static int is_in_program(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    uintptr_t address = (uintptr_t)data;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && address % sizeof(void *) == 0 && address >= start &&
            address + sizeof table <= start + segment->p_memsz) {
            return 1;
        }
    }
    return -1; // the first object is the program; no other has it
}

/** The entry of the table for exceptions, or NULL if it is not that table. */
static void **find_entry(void **words)
{
    if (dl_iterate_phdr(is_in_program, words) != 1) {
        return NULL;
    }
    for (size_t i = 0; i < TABLE_WORDS; i++) {
        if (words[i] == (void *)arm_v7m_cpu_do_interrupt) {
            return &words[i];
        }
    }
    return NULL;
}

void semihosting_create(const struct semihosting_heap *heap, bool one_console)
{
    Object *cpu = machine_cortex_m();
    if (!cpu) {
        return;
    }
    answer = *heap;
    has_one_console = one_console;
    void **class = object_get_class(cpu);
    // The table itself begins nearest to its entry; tables before it may be of the class, too.
    size_t found = CLASS_WORDS;
    ptrdiff_t nearest = TABLE_WORDS;
    for (size_t i = 0; i < CLASS_WORDS; i++) {
        void **entry = find_entry(class[i]);
        if (entry && entry - (void **)class[i] < nearest) {
            nearest = entry - (void **)class[i];
            found = i;
        }
    }
    if (found < CLASS_WORDS) {
        memcpy(table, class[found], sizeof table);
        table[nearest] = (void *)on_exception;
        class[found] = table;
        return;
    }
    fatal("this QEMU, %s, handles exceptions of a Cortex-M in an unexpected way",
          qemu_api_version());
}
