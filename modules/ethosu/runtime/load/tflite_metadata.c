// SPDX-License-Identifier: MIT
/**
 * Reads TFLite metadata; see tflite_metadata.h. Source of the layout: metadata_schema.fbs of
 * tensorflow/tflite-support, identifier "M001". The associated files are a ZIP archive at the end
 * of the model's file, not compressed.
 */
#include "runtime/load/tflite_metadata.h"

#include "runtime/file/checked.h"
#include "runtime/file/failure.h"
#include "runtime/file/flatbuffer.h"
#include "runtime/load/metadata.h"
#include "runtime/run/model.h"

/** Bytes that may be read per byte of the metadata and its files, which can refer to a part often.
 */
#define READS_PER_BYTE 8u

/** Sizes of ZIP records without their texts, and the maximum of bytes after the last one. */
#define ZIP_END_SIZE 22u
#define ZIP_ENTRY_SIZE 46u
#define ZIP_LOCAL_SIZE 30u
#define ZIP_MAX_PADDING 1024u

enum { FILE_AXIS_LABELS = 2, FILE_VALUE_LABELS = 3, FILE_CALIBRATION = 4 };
enum { UNIT_NORMALIZATION = 1, UNIT_CALIBRATION = 2, UNIT_THRESHOLD = 3 };
enum { TRANSFORMATIONS = 3 };

struct span {
    const uint8_t *data; /**< NULL if absent */
    uint32_t size;
};

/** The archive's directory. */
struct archive {
    uint32_t start; /**< byte offset in the file */
    uint32_t count; /**< entries */
    uint32_t shift; /**< added to positions, modulo 2^32: they may be relative to the archive */
};

struct reader {
    struct flatbuffer fb;
    struct span file; /**< the model's */
    struct archive archive;
    uint64_t left; /**< bytes that may still be read */
    uint8_t subject;
    tflite_fact_receiver *receive;
    void *context;
    struct ethosu_model_error *error;
};

static int refuse(struct reader *reader, const char *why)
{
    return error_set(reader->error, ETHOSU_MODEL_BAD_FILE, "%s", why);
}

static int charge(struct reader *reader, uint64_t size)
{
    if (reader->fb.bad) {
        return error_set(reader->error, ETHOSU_MODEL_BAD_FILE, "malformed or truncated at byte %u",
                         (unsigned)reader->fb.bad_at);
    }
    if (size > reader->left) {
        return refuse(reader, "it references its parts so often that reading would take too long");
    }
    reader->left -= size;
    return ETHOSU_MODEL_OK;
}

static void report(const struct reader *reader, uint8_t kind, struct span bytes)
{
    const struct tflite_fact fact = {reader->subject, kind, bytes.data, bytes.size};
    reader->receive(reader->context, &fact);
}

/** Report a vector of elements of `size` bytes each. */
static int report_vector(struct reader *reader, uint8_t kind, struct fb_vector vector,
                         uint32_t size)
{
    TRY(charge(reader, (uint64_t)vector.count * size));
    struct span bytes = {reader->fb.data + vector.position, vector.count * size};
    report(reader, kind, vector.position == 0 ? (struct span){NULL, 0} : bytes);
    return ETHOSU_MODEL_OK;
}

/** Read a number of a ZIP record: little-endian, at any alignment. */
static uint32_t zip_half(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8;
}

/** Find the record at the archive's end; if it is missing, there are no files. */
static void archive_find(struct reader *reader)
{
    const struct span *file = &reader->file;
    struct archive *archive = &reader->archive;
    uint32_t least = file->size > ZIP_END_SIZE + ZIP_MAX_PADDING
                         ? file->size - ZIP_END_SIZE - ZIP_MAX_PADDING
                         : 0;
    for (uint32_t at = file->size; at-- > least;) {
        const uint8_t *end = file->data + at;
        if (file->size - at >= ZIP_END_SIZE && fb_is_mark(end, "PK\5\6")) {
            archive->count = zip_half(end + 10);
            archive->start = at - fb_word(end + 12);
            archive->shift = archive->start - fb_word(end + 16);
            return;
        }
    }
}

/** Get the directory entry at `*position` and advance it; NULL if damaged. */
static const uint8_t *archive_next(const struct span *file, uint32_t *position)
{
    if (!checked_inside(*position, ZIP_ENTRY_SIZE, file->size)) {
        return NULL;
    }
    const uint8_t *entry = file->data + *position;
    uint32_t texts = zip_half(entry + 28) + zip_half(entry + 30) + zip_half(entry + 32);
    bool whole = checked_inside(*position + ZIP_ENTRY_SIZE, texts, file->size);
    *position += ZIP_ENTRY_SIZE + texts;
    return whole && fb_is_mark(entry, "PK\1\2") ? entry : NULL;
}

/** Contents of an entry; without data if outside the file. */
static struct span archive_content(const struct reader *reader, const uint8_t *entry)
{
    const struct span *file = &reader->file;
    uint32_t start = fb_word(entry + 42) + reader->archive.shift;
    uint32_t size = fb_word(entry + 20);
    if (!checked_inside(start, ZIP_LOCAL_SIZE, file->size)) {
        return (struct span){NULL, 0};
    }
    const uint8_t *local = file->data + start;
    start += ZIP_LOCAL_SIZE + zip_half(local + 26) + zip_half(local + 28);
    bool inside = checked_inside(start, size, file->size);
    return (struct span){inside ? file->data + start : NULL, size};
}

/** Check each entry once, and add the sizes of all files to the bytes that may be read. */
static int archive_check(struct reader *reader)
{
    uint32_t position = reader->archive.start;
    uint32_t left = reader->file.size;
    for (uint32_t i = 0; i < reader->archive.count; i++) {
        const uint8_t *entry = archive_next(&reader->file, &position);
        struct span content =
            entry == NULL ? (struct span){NULL, 0} : archive_content(reader, entry);
        if (content.data == NULL || content.size > left) {
            return refuse(reader, "directory is damaged");
        }
        left -= content.size;
        reader->left += (uint64_t)READS_PER_BYTE * content.size;
    }
    return ETHOSU_MODEL_OK;
}

/** Find an uncompressed file by name; the last one if there are several. */
static int archive_get(struct reader *reader, struct fb_vector name, struct span *content)
{
    uint32_t position = reader->archive.start;
    *content = (struct span){NULL, 0};
    for (uint32_t i = 0; i < reader->archive.count; i++) {
        const uint8_t *entry = archive_next(&reader->file, &position);
        TRY(charge(reader, sizeof(uint32_t)));
        if (zip_half(entry + 10) == 0 && zip_half(entry + 28) == name.count) {
            TRY(charge(reader, name.count));
            if (fb_same(entry + ZIP_ENTRY_SIZE, reader->fb.data + name.position, name.count)) {
                *content = archive_content(reader, entry);
            }
        }
    }
    return ETHOSU_MODEL_OK;
}

/** Contents of a tensor's associated files. */
struct tensor_files {
    struct span axis_labels;
    struct span value_labels;
    struct span calibration;
};

static int get_files(struct reader *reader, const struct fb_vector *list,
                     struct tensor_files *files)
{
    static const struct fb_field fields[] = {FB_BYTES(0), FB_BYTE(2), FB_END};
    struct {
        struct fb_vector name;
        uint32_t type;
    } table;
    memset(files, 0, sizeof *files);
    for (uint32_t i = 0; i < list->count; i++) {
        TRY(charge(reader, 2 * sizeof(uint32_t)));
        fb_read(&reader->fb, fb_element(&reader->fb, list, i), fields, &table);
        struct span content;
        TRY(archive_get(reader, table.name, &content));
        if (table.type == FILE_AXIS_LABELS) {
            files->axis_labels = content;
        } else if (table.type == FILE_VALUE_LABELS) {
            files->value_labels = content;
        } else if (table.type == FILE_CALIBRATION) {
            files->calibration = content;
        }
    }
    return ETHOSU_MODEL_OK;
}

static int report_file(struct reader *reader, uint8_t kind, struct span content)
{
    TRY(charge(reader, content.size));
    report(reader, kind, content);
    return ETHOSU_MODEL_OK;
}

static int report_normalization(struct reader *reader, uint32_t position)
{
    static const struct fb_field fields[] = {FB_WORDS(0), FB_WORDS(1), FB_END};
    struct {
        struct fb_vector mean;
        struct fb_vector std;
    } table;
    fb_read(&reader->fb, position, fields, &table);
    TRY(report_vector(reader, TFLITE_FACT_MEAN, table.mean, sizeof(float)));
    return report_vector(reader, TFLITE_FACT_STD, table.std, sizeof(float));
}

static int report_calibration(struct reader *reader, uint32_t position, struct span rows)
{
    static const struct fb_field fields[] = {FB_BYTE(0), FB_WORD(1), FB_END};
    struct {
        uint32_t transformation;
        uint32_t default_score;
    } table;
    fb_read(&reader->fb, position, fields, &table);
    if (table.transformation >= TRANSFORMATIONS) {
        return error_set(reader->error, ETHOSU_MODEL_BAD_FILE,
                         "score calibration has transformation %u, expected 0 to 2",
                         (unsigned)table.transformation);
    }
    uint8_t transformation = (uint8_t)table.transformation;
    report(reader, TFLITE_FACT_TRANSFORMATION, (struct span){&transformation, 1});
    report(reader, TFLITE_FACT_DEFAULT_SCORE,
           (struct span){(const uint8_t *)&table.default_score, sizeof(float)});
    return report_file(reader, TFLITE_FACT_CALIBRATION, rows);
}

static int report_unit(struct reader *reader, struct fb_union unit, struct span calibration)
{
    static const struct fb_field fields[] = {FB_WORD(0), FB_END};
    uint32_t number;
    TRY(charge(reader, 4 * sizeof(uint32_t)));
    switch (unit.type) {
    case UNIT_NORMALIZATION:
        return report_normalization(reader, unit.table);
    case UNIT_CALIBRATION:
        return report_calibration(reader, unit.table, calibration);
    case UNIT_THRESHOLD:
        fb_read(&reader->fb, unit.table, fields, &number);
        report(reader, TFLITE_FACT_THRESHOLD,
               (struct span){(const uint8_t *)&number, sizeof(float)});
        return ETHOSU_MODEL_OK;
    default:
        return ETHOSU_MODEL_OK;
    }
}

/** Report an input or output. */
static int report_tensor(struct reader *reader, uint32_t position)
{
    static const struct fb_field fields[] = {
        FB_BYTES(0), FB_BYTES(1), FB_WORDS(4), FB_WORDS(6), FB_END,
    };
    struct {
        struct fb_vector name;
        struct fb_vector description;
        struct fb_vector units;
        struct fb_vector files;
    } table;
    struct tensor_files files;
    fb_read(&reader->fb, position, fields, &table);
    TRY(charge(reader, 2 * sizeof(uint32_t)));
    TRY(report_vector(reader, TFLITE_FACT_NAME, table.name, 1));
    TRY(report_vector(reader, TFLITE_FACT_DESCRIPTION, table.description, 1));
    TRY(get_files(reader, &table.files, &files));
    struct span labels = files.axis_labels.data ? files.axis_labels : files.value_labels;
    if (labels.data != NULL) {
        TRY(report_file(reader, TFLITE_FACT_LABELS, labels));
    }
    for (uint32_t i = 0; i < table.units.count; i++) {
        TRY(report_unit(reader, fb_union_at(&reader->fb, &table.units, i), files.calibration));
    }
    return ETHOSU_MODEL_OK;
}

/** Report the inputs or the outputs, either all of the model's or none. */
static int report_tensors(struct reader *reader, uint8_t subject, const char *what,
                          const struct fb_vector *list, uint32_t expected)
{
    if (list->count != 0 && list->count != expected) {
        return error_set(reader->error, ETHOSU_MODEL_BAD_FILE,
                         "it describes %u %s, the model has %u", (unsigned)list->count, what,
                         (unsigned)expected);
    }
    reader->subject = subject;
    for (uint32_t i = 0; i < list->count; i++) {
        TRY(report_tensor(reader, fb_element(&reader->fb, list, i)));
    }
    return ETHOSU_MODEL_OK;
}

static int read_root(struct reader *reader, const struct ethosu_model *model)
{
    static const struct fb_field root_fields[] = {FB_BYTES(0), FB_BYTES(1), FB_WORDS(3), FB_END};
    static const struct fb_field graph_fields[] = {FB_WORDS(2), FB_WORDS(3), FB_END};
    struct flatbuffer *fb = &reader->fb;
    struct {
        struct fb_vector name;
        struct fb_vector description;
        struct fb_vector graphs;
    } root;
    struct {
        struct fb_vector inputs;
        struct fb_vector outputs;
    } graph = {{0, 0}, {0, 0}};
    fb_read(fb, fb_follow(fb, 0), root_fields, &root);
    TRY(report_vector(reader, TFLITE_FACT_NAME, root.name, 1));
    TRY(report_vector(reader, TFLITE_FACT_DESCRIPTION, root.description, 1));
    if (root.graphs.count != 0) {
        fb_read(fb, fb_element(fb, &root.graphs, 0), graph_fields, &graph);
        TRY(charge(reader, 2 * sizeof(uint32_t)));
    }
    TRY(report_tensors(reader, TFLITE_FACT_INPUT, "inputs", &graph.inputs, model->inputs));
    TRY(report_tensors(reader, TFLITE_FACT_OUTPUT, "outputs", &graph.outputs, model->outputs));
    return charge(reader, 0);
}

int tflite_metadata_read(const struct ethosu_model *model, tflite_fact_receiver *receive,
                         void *context, struct ethosu_model_error *error)
{
    struct reader reader = {
        .file = {model->file, model->file_size},
        .receive = receive,
        .context = context,
        .error = error,
    };
    struct flatbuffer *fb = &reader.fb;
    fb->data = ethosu_model_get_metadata(model, "TFLITE_METADATA", &fb->size);
    if (fb->data == NULL) {
        return ETHOSU_MODEL_OK;
    }
    if (fb->size < 2 * sizeof(uint32_t) || !fb_is_mark(fb->data + 4, "M001")) {
        return refuse(&reader, "identifier is not M001");
    }
    reader.left = (uint64_t)READS_PER_BYTE * fb->size;
    archive_find(&reader);
    TRY(archive_check(&reader));
    return read_root(&reader, model);
}
