// SPDX-License-Identifier: MIT
/**
 * Mutator of model files for libFuzzer: FlatBuffers, and data inside or after them. A table lists
 * the tables and vectors of each format. Most changes set one of their words to a boundary value,
 * because random bytes rarely pass the first check.
 *
 * With DELEGATES, only the delegates of ExecuTorch programs change.
 */
#define _GNU_SOURCE
#include "runtime/file/flatbuffer.h"
#include "libfuzzer.h"
#include "mutate_payload.h"
#include "mutate_stream.h"

#include <string.h>

#ifndef DELEGATES
#define DELEGATES 0
#endif

#define MAX_CHANGES 2u
#define MAX_RANK 8u

/** Maximum number of tables that a change of a dimension visits. */
#define MAX_TABLES 1000u

/** Number of bytes after a mark that may change. */
#define HEADER_BYTES 48u

enum table {
    MODEL,
    GRAPH,
    TENSOR,
    QUANTIZATION,
    OPERATOR,
    BUFFER,
    PROGRAM,
    METHOD,
    CHAIN,
    INSTRUCTION,
    CALL,
    VALUE,
    CONTENT,
    DELEGATE,
    PARTS,
    LABELS,
    LABELS_GRAPH,
    LABELS_TENSOR,
    OTHER, /**< only its scalars change */
};

/** Kinds of fields. The kind of a vector is log2 of its element size in bytes. */
enum kind {
    BYTES = FB_KIND_BYTES,
    WORDS = FB_KIND_WORDS,
    LONGS = FB_KIND_LONGS,
    SHAPE, /**< a vector of words, which fits to other vectors of this kind */
    CHILD,
    CHILDREN,
};

/** A field of a table. Fields with a larger weight are chosen more often. */
struct row {
    uint8_t table, field, kind, weight;
    uint8_t of; /**< table that a child is */
};

static const struct row rows[] = {
    // TensorFlow Lite's schema
    {MODEL, 1, CHILDREN, 1, OTHER}, // operator codes
    {MODEL, 2, CHILDREN, 16, GRAPH},
    {MODEL, 4, CHILDREN, 2, BUFFER},
    {MODEL, 6, CHILDREN, 1, OTHER}, // metadata
    {GRAPH, 0, CHILDREN, 7, TENSOR},
    {GRAPH, 1, WORDS, 1, 0}, // inputs
    {GRAPH, 2, WORDS, 1, 0}, // outputs
    {GRAPH, 3, CHILDREN, 5, OPERATOR},
    {TENSOR, 0, SHAPE, 5, 0},
    {TENSOR, 4, CHILD, 2, QUANTIZATION},
    {QUANTIZATION, 2, WORDS, 2, 0}, // scales
    {QUANTIZATION, 3, LONGS, 2, 0}, // zero points
    {OPERATOR, 1, WORDS, 2, 0},     // inputs
    {OPERATOR, 2, WORDS, 2, 0},     // outputs
    {OPERATOR, 4, CHILD, 4, OTHER}, // options
    {OPERATOR, 5, BYTES, 1, 0},     // options of a custom operator
    {BUFFER, 0, BYTES, 8, 0},
    // program.fbs and flat_tensor.fbs of ExecuTorch
    {PROGRAM, 1, CHILDREN, 12, METHOD},
    {PROGRAM, 2, CHILDREN, 1, OTHER}, // of a data file: what has a name
    {PROGRAM, 3, CHILDREN, 1, BUFFER},
    {PROGRAM, 4, CHILDREN, 1, OTHER}, // segments
    {PROGRAM, 5, CHILD, 1, PARTS},
    {PROGRAM, 6, CHILDREN, 1, PARTS},
    {PROGRAM, 7, CHILDREN, 1, OTHER}, // what has a name
    {METHOD, 2, CHILDREN, 6, VALUE},
    {METHOD, 3, WORDS, 1, 0}, // inputs
    {METHOD, 4, WORDS, 1, 0}, // outputs
    {METHOD, 5, CHILDREN, 4, CHAIN},
    {METHOD, 6, CHILDREN, 1, OTHER}, // operators
    {METHOD, 7, CHILDREN, 1, DELEGATE},
    {METHOD, 8, LONGS, 1, 0}, // sizes of planned buffers
    {CHAIN, 2, CHILDREN, 8, INSTRUCTION},
    {INSTRUCTION, 1, CHILD, 8, CALL},
    {CALL, 1, WORDS, 4, 0}, // arguments
    {VALUE, 1, CHILD, 8, CONTENT},
    {CONTENT, 0, WORDS, 1, 0}, // of a list
    {CONTENT, 2, SHAPE, 3, 0}, // of a tensor
    {CONTENT, 3, BYTES, 1, 0}, // the order of its dimensions
    {CONTENT, 6, CHILD, 1, OTHER},
    {DELEGATE, 1, CHILD, 2, OTHER},
    {PARTS, 1, LONGS, 2, 0}, // offsets
    // metadata_schema.fbs of TensorFlow Lite
    {LABELS, 2, CHILDREN, 8, LABELS_GRAPH},
    {LABELS_GRAPH, 2, CHILDREN, 2, LABELS_TENSOR},
    {LABELS_GRAPH, 3, CHILDREN, 2, LABELS_TENSOR},
    {LABELS_TENSOR, 4, CHILDREN, 2, OTHER}, // process units
    {LABELS_TENSOR, 6, CHILDREN, 2, OTHER}, // files
};

#define ROWS (sizeof rows / sizeof rows[0])

/** The bytes to mutate. */
static uint8_t *at(const struct flatbuffer *fb, uint32_t position)
{
    return (uint8_t *)(uintptr_t)fb->data + position;
}

/** Change the word at a position of the buffer; no effect at position 0 or outside. */
static void change_word(struct flatbuffer *fb, uint32_t position)
{
    if (position != 0 && position <= fb->size - 4) {
        uint32_t value = draw_boundary(fb_u32(fb, position), NULL);
        memcpy(at(fb, position), &value, sizeof value);
    }
}

/** 16 bits, 0 outside of the buffer. */
static uint32_t half_at(const struct flatbuffer *fb, uint32_t position)
{
    return position < fb->size - 1 ? *at(fb, position) | (uint32_t)*at(fb, position + 1) << 8 : 0;
}

/** Change a size in a vtable, or the position of a field. */
static void change_vtable(struct flatbuffer *fb, uint32_t vtable)
{
    uint32_t position = vtable + 2 * draw(half_at(fb, vtable) / 2 + 1);
    if (position <= fb->size - 2) {
        uint16_t value = (uint16_t)draw_boundary(half_at(fb, position), NULL);
        memcpy(at(fb, position), &value, sizeof value);
    }
}

/** Change a scalar of a table, which may be an offset in the file; rarely its vtable. */
static void change_field(struct flatbuffer *fb, uint32_t table)
{
    uint32_t vtable = table - fb_u32(fb, table);
    if (draw(8) == 0) {
        change_vtable(fb, vtable);
        return;
    }
    uint32_t fields = half_at(fb, vtable) < 6 ? 0 : (half_at(fb, vtable) - 4) / 2;
    uint32_t offset = fields == 0 ? 0 : half_at(fb, vtable + 4 + 2 * draw(fields));
    if (offset == 0) {
        return;
    }
    if (draw(2) == 0) {
        change_word(fb, table + offset);
    } else if (table + offset < fb->size) {
        *at(fb, table + offset) = (uint8_t)draw(256);
    }
}

static struct fb_vector vector_of(struct flatbuffer *fb, uint32_t table, const struct row *row)
{
    uint32_t kind = row->kind == SHAPE || row->kind == CHILDREN ? WORDS : row->kind;
    const struct fb_field fields[] = {FB_FIELD(row->field, (uint8_t)kind), FB_END};
    struct fb_vector vector;
    fb_read(fb, table, fields, &vector);
    return vector;
}

static uint32_t child_of(struct flatbuffer *fb, uint32_t table, const struct row *row)
{
    const struct fb_field fields[] = {FB_TABLE(row->field), FB_END};
    uint32_t child;
    fb_read(fb, table, fields, &child);
    return child;
}

/** Change a dimension in all tables that have it, so that the shapes remain consistent. */
static void change_shapes(struct flatbuffer *fb, enum table kind, uint32_t table, uint32_t old,
                          uint32_t value, uint32_t *tables)
{
    for (const struct row *row = rows; row < rows + ROWS && table != 0; row++) {
        if (row->table != kind || *tables >= MAX_TABLES) {
            continue;
        }
        if (row->kind == CHILD) {
            change_shapes(fb, row->of, child_of(fb, table, row), old, value, tables);
        }
        struct fb_vector vector = {0};
        if (row->kind == SHAPE || row->kind == CHILDREN) {
            vector = vector_of(fb, table, row);
        }
        uint32_t most = row->kind == SHAPE ? MAX_RANK : MAX_TABLES;
        for (uint32_t i = 0; i < vector.count && i < most && *tables < MAX_TABLES; i++) {
            if (row->kind == CHILDREN) {
                ++*tables;
                change_shapes(fb, row->of, fb_element(fb, &vector, i), old, value, tables);
            } else if (fb_u32_at(fb, &vector, i) == old && draw(8) != 0) {
                memcpy(at(fb, vector.position + 4 * i), &value, sizeof value);
            }
        }
    }
}

/** Change an element of a vector, or (rarely) its count. */
static void change_vector(struct flatbuffer *fb, const struct fb_vector *vector, uint32_t kind)
{
    uint32_t words = kind == BYTES   ? (vector->count + 3) / 4
                     : kind == LONGS ? 2 * vector->count
                                     : vector->count;
    bool count = words == 0 || draw(6) == 0;
    change_word(fb, count ? vector->position - 4 : vector->position + 4 * draw(words));
}

/** The field of a table to change or to follow; NULL to change one of its scalars. */
static const struct row *choose(enum table table)
{
    uint32_t sum = 1;
    for (uint32_t i = 0; i < ROWS; i++) {
        sum += rows[i].table == table ? rows[i].weight : 0;
    }
    uint32_t left = draw(sum);
    for (uint32_t i = 0; i < ROWS && left > 0; i++) {
        uint32_t weight = rows[i].table == table ? rows[i].weight : 0;
        if (left <= weight && weight != 0) {
            return &rows[i];
        }
        left -= weight;
    }
    return NULL;
}

/** Walk from the root to a random field, and change it. */
static void change_flatbuffer(struct flatbuffer *fb, enum table root)
{
    const uint32_t first = fb_follow(fb, 0);
    enum table kind = root;
    uint32_t table = first;
    while (table != 0) {
        const struct row *row = choose(kind);
        struct fb_vector vector = {0};
        uint32_t child = 0;
        uint32_t tables = 0;
        if (row != NULL && row->kind == CHILD) {
            child = child_of(fb, table, row);
        } else if (row != NULL) {
            vector = vector_of(fb, table, row);
        }
        if (vector.count != 0 && row->kind == CHILDREN && draw(16) != 0) {
            child = fb_element(fb, &vector, draw(vector.count));
        } else if (vector.count != 0 && row->kind == SHAPE && draw(4) != 0) {
            uint32_t old = fb_u32_at(fb, &vector, draw(vector.count));
            change_shapes(fb, root, first, old, draw_boundary(old, NULL), &tables);
        } else if (vector.position != 0) {
            change_vector(fb, &vector, row->kind);
        } else if (child == 0) {
            change_field(fb, table);
        }
        table = child;
        kind = row == NULL ? OTHER : row->of;
    }
}

/** A random occurrence of a mark in the file, or NULL. */
static uint8_t *find(uint8_t *data, size_t size, const char *mark)
{
    size_t start = draw((uint32_t)size);
    uint8_t *found = memmem(data + start, size - start, mark, strlen(mark));
    return found != NULL ? found : memmem(data, size, mark, strlen(mark));
}

/** One of the FlatBuffers in the file: the outer one, one inside it, or one after it. */
static bool change_tables(uint8_t *data, size_t size)
{
    static const struct {
        const char *mark;
        enum table root;
    } formats[] = {{"TFL3", MODEL}, {"ET12", PROGRAM}, {"FT01", PROGRAM}, {"M001", LABELS}};
    enum { FORMATS = sizeof formats / sizeof formats[0] };
    uint32_t first = draw(FORMATS);
    for (uint32_t i = first; i < first + FORMATS; i++) {
        uint8_t *mark = find(data, size, formats[i % FORMATS].mark);
        if (mark != NULL && mark - data >= 4 && data + size - mark >= 8) {
            uint8_t *start = mark - 4;
            struct flatbuffer fb = {.data = start, .size = (uint32_t)(data + size - start)};
            change_flatbuffer(&fb, formats[i % FORMATS].root);
            return true;
        }
    }
    return false;
}

/** The extended header of a program, or of a data file. */
static bool change_header(uint8_t *data, size_t size)
{
    uint8_t *mark = find(data, size, draw(2) ? "eh00" : "FH01");
    size_t left = mark == NULL ? 0 : (size_t)(data + size - mark);
    struct flatbuffer fb = {.data = mark, .size = left < HEADER_BYTES ? 0 : HEADER_BYTES};
    if (fb.size != 0) {
        change_word(&fb, 4 * draw(HEADER_BYTES / 4));
    }
    return fb.size != 0;
}

/** The payload of a custom operator: a vector of bytes, preceded by its length. */
static bool change_payload(uint8_t *data, size_t size)
{
    uint8_t *mark = find(data, size, "COP");
    uint32_t length = mark == NULL || mark - data < 4 ? 0 : fb_word(mark - 4);
    if (length < 8 || length > (size_t)(data + size - mark)) {
        return false;
    }
    mutate_payload_in_place(mark, length);
    return true;
}

/** Sizes in the header of a block in a delegate's data. */
enum { BLOCK_HEADER = 32, BLOCK_SIZE_AT = 16 };

/**
 * Change a block's name or size, a word of its contents, or any of its bytes, including the command
 * stream's.
 */
static void change_block(uint8_t *block, uint32_t size)
{
    struct flatbuffer header = {.data = block, .size = BLOCK_HEADER};
    struct flatbuffer content = {.data = block, .size = BLOCK_HEADER + size};
    uint32_t kind = draw(6);
    if (kind == 0) {
        change_word(&header, BLOCK_SIZE_AT + 4 * draw(2));
    } else if (kind == 1 || size < 8) {
        block[draw(BLOCK_HEADER)] = (uint8_t)draw(256);
    } else if (kind == 2) {
        mutate_payload_in_place(block + BLOCK_HEADER, size);
    } else {
        change_word(&content, BLOCK_HEADER + 4 * draw(size / 4));
    }
}

/** One of the first blocks of a delegate. */
static bool change_delegate(uint8_t *data, size_t size)
{
    uint8_t *block = find(data, size, "vela_bin_stream");
    for (uint32_t skipped = draw(8); block != NULL && data + size - block > BLOCK_HEADER;
         skipped--) {
        uint32_t left = (uint32_t)(data + size - block) - BLOCK_HEADER;
        uint32_t bytes = fb_word(block + BLOCK_SIZE_AT);
        bytes = bytes > left ? left : bytes;
        if (skipped == 0) {
            change_block(block, bytes);
            return true;
        }
        bytes = (bytes + 15) & ~15u;
        block += BLOCK_HEADER + (bytes > left ? left : bytes);
    }
    return block != NULL;
}

static bool change(uint8_t *data, size_t size)
{
    uint32_t kind = DELEGATES ? 0 : draw(8);
    bool is_changed = kind == 0   ? change_payload(data, size) || change_delegate(data, size)
                      : kind == 1 ? change_header(data, size)
                                  : false;
    return is_changed || (!DELEGATES && change_tables(data, size));
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    draw_from(seed);
    if (size < 64 || (!DELEGATES && draw(8) == 0)) {
        return LLVMFuzzerMutate(data, size, max_size);
    }
    for (uint32_t changes = 1 + draw(MAX_CHANGES); changes > 0; changes--) {
        if (!change(data, size)) {
            return LLVMFuzzerMutate(data, size, max_size);
        }
    }
    return size;
}
