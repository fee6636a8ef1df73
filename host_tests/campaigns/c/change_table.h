// SPDX-License-Identifier: MIT
/** Changes of FlatBuffers, for libFuzzer's mutators: words of tables and vectors get values at a
 * boundary, where random bytes seldom get past the first check. */
#ifndef CHANGE_TABLE_H
#define CHANGE_TABLE_H

#include "flatbuffer.h"
#include "libfuzzer.h"
#include "mutate_stream.h"

#include <stddef.h>

/** A mutator makes one to so many changes. */
#define MOST_CHANGES 2u

/** A value at a boundary, or next to the old one. */
uint32_t boundary(uint32_t old);

/** Change the word at a position of the buffer; nothing when it is outside, or 0. */
void set_word(struct flatbuffer *fb, uint32_t position);

/** Change an element of a vector of words, or (seldom) its count. */
void change_vector(struct flatbuffer *fb, const struct fb_vector *vector);

/** Change a scalar of a table, which may be a place of something in the file, too. */
void change_field(struct flatbuffer *fb, uint32_t table);

/** A field that is a table: its position, 0 when there is none. */
uint32_t get_table(struct flatbuffer *fb, uint32_t table, uint32_t field);

/** A field that is a vector of elements of 1, 4 or 8 bytes. */
struct fb_vector get_vector(struct flatbuffer *fb, uint32_t table, uint32_t field, uint32_t bytes);

/** One of the tables in a vector that is a field. */
uint32_t any_of(struct flatbuffer *fb, uint32_t table, uint32_t field);

/** Give `value` to the sizes that were `old`, but for some. */
void change_sizes(struct flatbuffer *fb, const struct fb_vector *sizes, uint32_t old,
                  uint32_t value);

#endif
