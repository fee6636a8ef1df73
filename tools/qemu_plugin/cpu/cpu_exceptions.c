// SPDX-License-Identifier: MIT
/**
 * See cpu_exceptions.h. QEMU calls the function through a table of the CPU's class. The class gets
 * a copy of that table with our function.
 */
#include "cpu/cpu_exceptions.h"

#include <link.h>
#include <stddef.h>
#include <string.h>

#include "base/message.h"

/** Words of a class, of its table and of a description that are searched. */
#define CLASS_WORDS 64u
#define TABLE_WORDS 32u
#define DESCRIPTION_WORDS 16u
/** Larger than any structure of a CPU. */
#define OFFSET_MAX (UINT32_C(1) << 20)

static void *table[TABLE_WORDS];
static size_t exception_offset; /**< in QEMU's CPUState */

/* --- QEMU's data ------------------------------------------------------------------ */

struct span {
    uintptr_t address;
    size_t size;
};

/** Do these bytes belong to the program? */
static int is_in_program(struct dl_phdr_info *object, size_t size, void *data)
{
    const struct span *span = data;
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type == PT_LOAD && span->address >= start &&
            span->address + span->size <= start + segment->p_memsz) {
            return 1;
        }
    }
    return -1; // the first object is the program; no other has it
}

static bool has(const void *address, size_t size)
{
    struct span span = {(uintptr_t)address, size};
    return dl_iterate_phdr(is_in_program, &span) == 1;
}

/** A word of an object of the program; NULL if there is no such object. */
static void *word_of(const void *object, size_t index)
{
    void *word = NULL;
    if (has((const char *)object + index * sizeof word, sizeof word)) {
        memcpy(&word, (const char *)object + index * sizeof word, sizeof word);
    }
    return word;
}

/** Does an object begin with this name? */
static bool is_named(const void *object, const char *name)
{
    const char *found = word_of(object, 0);
    return has(found, strlen(name) + 1) && strcmp(found, name) == 0;
}

/* --- The exception ---------------------------------------------------------------- */

/**
 * Offset in the description of a field: after its name, and up to QEMU 10 after a text for errors,
 * which this field does not have. 0 if it is no offset.
 */
static size_t offset_of(const void *field)
{
    const size_t first = (size_t)word_of(field, 1);
    const size_t offset = first ? first : (size_t)word_of(field, 2);
    return offset < OFFSET_MAX && offset % sizeof(int32_t) == 0 ? offset : 0;
}

/**
 * Where a CPU has the number of its exception. The layout of its structure differs by release; but
 * a CPU that is saved has this number in a part and in a field whose names are fixed, and whose
 * description has its offset.
 */
static size_t find_exception(void)
{
    for (size_t i = 0; i < DESCRIPTION_WORDS; i++) {
        const void *parts = word_of(vmstate_cpu_common, i), *part;
        for (size_t j = 0; j < DESCRIPTION_WORDS && (part = word_of(parts, j)); j++) {
            for (size_t k = 0;
                 is_named(part, "cpu_common/exception_index") && k < DESCRIPTION_WORDS; k++) {
                const void *field = word_of(part, k);
                if (is_named(field, "exception_index")) {
                    return offset_of(field);
                }
            }
        }
    }
    return 0;
}

int32_t cpu_exception(const void *cpu)
{
    int32_t number;
    memcpy(&number, (const char *)cpu + exception_offset, sizeof number);
    return number;
}

/* --- The table -------------------------------------------------------------------- */

/** Index of the function in a table, or TABLE_WORDS if it is not that table. */
static size_t find_entry(const void *words)
{
    size_t i = 0;
    bool is_table = (uintptr_t)words % sizeof(void *) == 0 && has(words, sizeof table);
    while (is_table && i < TABLE_WORDS && word_of(words, i) != (void *)arm_v7m_cpu_do_interrupt) {
        i++;
    }
    return is_table ? i : TABLE_WORDS;
}

void cpu_exceptions_handle(Object *cpu, void (*handler)(void *cpu))
{
    void **class = object_get_class(cpu);
    // The table itself begins nearest to its entry; tables before it may be of the class, too.
    size_t found = CLASS_WORDS, nearest = TABLE_WORDS;
    for (size_t i = 0; i < CLASS_WORDS; i++) {
        size_t entry = find_entry(class[i]);
        if (entry < nearest) {
            nearest = entry;
            found = i;
        }
    }
    exception_offset = find_exception();
    if (found == CLASS_WORDS || exception_offset == 0) {
        fatal("this QEMU, %s, handles exceptions of a Cortex-M in an unexpected way",
              qemu_api_version());
    }
    memcpy(table, class[found], sizeof table);
    table[nearest] = (void *)handler;
    class[found] = table;
}
