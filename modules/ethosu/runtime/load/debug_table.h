// SPDX-License-Identifier: MIT
/**
 * The table that `ethosu compile` adds to a file to map commands to operators of the source model.
 * Layout: see tools/ethosu_tools/model/debug_table.py.
 */
#ifndef DEBUG_TABLE_H
#define DEBUG_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** One operator: the commands of a call from the end of the previous row up to `end`. */
struct debug_row {
    uint32_t call; /**< number of the NPU call */
    uint32_t end;  /**< byte offset of its last command in the command stream */
    uint32_t name; /**< byte offset of its name in the table */
};

enum { DEBUG_MARK = 0x47424445, DEBUG_VERSION = 1 }; // "EDBG"
enum { DEBUG_WORD_MARK, DEBUG_WORD_VERSION, DEBUG_WORD_COUNT, DEBUG_HEADER_WORDS };
enum { DEBUG_ENTRY_CALL, DEBUG_ENTRY_END, DEBUG_ENTRY_NAME, DEBUG_ENTRY_WORDS };

static inline uint32_t debug_word(const char *table, uint32_t index)
{
    uint32_t value;
    memcpy(&value, table + 4 * index, sizeof value); // the file may have any alignment
    return value;
}

/** Number of rows stated in a table; UINT32_MAX if it is not a table of this version. */
static inline uint32_t debug_table_rows(const char *table, uint32_t size)
{
    if (size < 4 * DEBUG_HEADER_WORDS || debug_word(table, DEBUG_WORD_MARK) != DEBUG_MARK ||
        debug_word(table, DEBUG_WORD_VERSION) != DEBUG_VERSION) {
        return UINT32_MAX;
    }
    return debug_word(table, DEBUG_WORD_COUNT);
}

/** Is a row complete? */
static inline bool debug_table_has_row(uint32_t size, uint32_t index)
{
    return DEBUG_HEADER_WORDS + DEBUG_ENTRY_WORDS * (index + 1) <= size / 4;
}

/** Read a complete row. */
static inline struct debug_row debug_table_row(const char *table, uint32_t index)
{
    uint32_t at = DEBUG_HEADER_WORDS + DEBUG_ENTRY_WORDS * index;
    return (struct debug_row){debug_word(table, at + DEBUG_ENTRY_CALL),
                              debug_word(table, at + DEBUG_ENTRY_END),
                              debug_word(table, at + DEBUG_ENTRY_NAME)};
}

/** Length in bytes of a name that begins inside the table. */
static inline uint32_t debug_table_name_length(const char *table, uint32_t size, uint32_t name)
{
    const char *end = memchr(table + name, '\0', size - name);
    return end == NULL ? size - name : (uint32_t)(end - (table + name));
}

#endif
