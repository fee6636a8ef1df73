// SPDX-License-Identifier: MIT
/**
 * Reads fields and vtables near the end of a file with fb_read(), from memory that ends with the
 * file. test_fields.py compiles it with AddressSanitizer. Prints errors.
 */
#include "runtime/file/flatbuffer.h"

#include <stdio.h>
#include <stdlib.h>

/** Root, vtable with one field, table; the field follows. */
enum { VTABLE = 4, TABLE = 12, FIELD = 16 };

static int failures;

/** A file whose field has these bytes, and its last byte is the file's. */
static struct flatbuffer make(uint32_t bytes, uint16_t offset)
{
    const uint16_t vtable[] = {6, (uint16_t)(FIELD - TABLE + bytes), offset, 0};
    const uint32_t root = TABLE;
    const uint32_t back = TABLE - VTABLE;
    uint8_t *file = malloc(FIELD + bytes);
    memcpy(file, &root, sizeof root);
    memcpy(file + VTABLE, vtable, sizeof vtable);
    memcpy(file + TABLE, &back, sizeof back);
    for (uint32_t i = 0; i < bytes; i++) {
        file[FIELD + i] = (uint8_t)(0x81 + i);
    }
    return (struct flatbuffer){.data = file, .size = FIELD + bytes};
}

/** Read the field, and check its value and whether it is reported as malformed. */
static void check(uint32_t bytes, uint16_t offset, uint32_t kind, uint32_t expected, bool bad)
{
    struct flatbuffer fb = make(bytes, offset);
    const struct fb_field fields[] = {FB_FIELD(0, kind), FB_END};
    uint32_t found[2] = {99, 99};
    fb_read(&fb, fb_follow(&fb, 0), fields, found);
    if (found[0] != expected || fb.bad != bad || (bad && fb.bad_at != (uint32_t)TABLE + offset)) {
        printf("kind %u at byte %u of %u: %u, %s at %u\n", (unsigned)kind,
               (unsigned)(TABLE + offset), (unsigned)fb.size, (unsigned)found[0],
               fb.bad ? "bad" : "good", (unsigned)fb.bad_at);
        failures++;
    }
    struct fb_field field = FB_BYTE(0);
    if (kind == FB_KIND_BYTE && fb_scalar(&fb, TABLE, field, 7) != (offset == 0 ? 7 : expected)) {
        printf("scalar at byte %u of %u\n", (unsigned)(TABLE + offset), (unsigned)fb.size);
        failures++;
    }
    free((void *)(uintptr_t)fb.data);
}

/** A vtable at the end of a file, which has this many bytes of it: it may not be larger. */
static void check_vtable(uint32_t bytes, uint16_t size)
{
    enum { BEFORE = 4, BEHIND = 8 };
    const uint16_t vtable[] = {size, 4, 0};
    const uint32_t words[] = {BEFORE, (uint32_t)(BEFORE - BEHIND)};
    const bool bad = bytes < 2 || size > bytes;
    uint8_t *file = malloc(BEHIND + bytes);
    memcpy(file, words, sizeof words);
    memcpy(file + BEHIND, vtable, bytes);
    struct flatbuffer fb = {.data = file, .size = BEHIND + bytes};
    const struct fb_field fields[] = {FB_BYTE(0), FB_END};
    uint32_t found = 99;
    fb_read(&fb, fb_follow(&fb, 0), fields, &found);
    if (found != 0 || fb.bad != bad || (bad && fb.bad_at != BEHIND)) {
        printf("vtable of %u bytes, %u in the file: %u, %s at %u\n", (unsigned)size,
               (unsigned)bytes, (unsigned)found, fb.bad ? "bad" : "good", (unsigned)fb.bad_at);
        failures++;
    }
    free(file);
}

int main(void)
{
    for (uint32_t bytes = 1; bytes <= 6; bytes++) {
        for (uint16_t size = 2; size <= 8; size++) {
            check_vtable(bytes, size);
        }
    }
    for (uint16_t i = 0; i < 5; i++) { // the last five bytes of a file, one after another
        check(5, (uint16_t)(4 + i), FB_KIND_BYTE, 0x81u + i, false);
    }
    check(5, 0, FB_KIND_BYTE, 0, false);           // absent
    check(5, 9, FB_KIND_BYTE, 0, true);            // behind the end
    check(5, UINT16_MAX, FB_KIND_BYTE, 0, true);   // far behind it
    check(5, 5, FB_KIND_WORD, 0x85848382u, false); // the last word
    for (uint16_t offset = 6; offset < 9; offset++) {
        for (uint32_t kind = 0; kind <= FB_KIND_TABLE; kind++) {
            if (kind != FB_KIND_BYTE) {
                check(5, offset, kind, 0, true);
            }
        }
    }
    check(8, 4, FB_KIND_LONG, 0x84838281u, false);
    return failures != 0;
}
