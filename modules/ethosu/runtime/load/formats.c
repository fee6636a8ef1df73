// SPDX-License-Identifier: MIT
/** The formats that this build has. No other file chooses one by the kind of a file. */
#include "runtime/load/formats.h"
#include "driver/base/ethosu_count.h"

/** Reject requests for features that the file does not contain. */
static int check_format(struct builder *builder, const struct ethosu_model_source *source)
{
    bool methods = builder->model->format->has_methods;
    if (source->data != NULL && !methods) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "a .tflite file has no data file (.ptd), %u bytes given",
                         (unsigned)source->data_size);
    }
    return source->file_size <= INT32_MAX
               ? ETHOSU_MODEL_OK
               : error_set(builder->error, ETHOSU_MODEL_BAD_FILE, "file is larger than 2 GB");
}

/** Reject a file that is not a model for this build, and name its kind. */
static int refuse_kind(struct builder *builder, const struct ethosu_model_source *source,
                       uint8_t kind)
{
    if (!ETHOSU_PTE && (kind == ETHOSU_FILE_PROGRAM || kind == ETHOSU_FILE_BUNDLE)) {
        return error_set(builder->error, ETHOSU_MODEL_UNSUPPORTED,
                         "an ExecuTorch program of %u bytes: not supported by this build",
                         (unsigned)source->file_size);
    }
    if (kind == ETHOSU_FILE_DATA) {
        return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                         "a data file (.ptd) of %u bytes: load its program with this as data",
                         (unsigned)source->file_size);
    }
    return error_set(builder->error, ETHOSU_MODEL_BAD_FILE,
                     "not a .tflite file: %u bytes without the mark TFL3 at byte 4",
                     (unsigned)source->file_size);
}

int formats_find(struct builder *builder, const struct ethosu_model_source *source)
{
    static const struct model_format *const formats[] = {
        [ETHOSU_FILE_TFLITE] = &tflite_format,
#if ETHOSU_PTE
        [ETHOSU_FILE_PROGRAM] = &program_format,
        [ETHOSU_FILE_BUNDLE] = &program_format,
#endif
    };
    uint8_t kind = ethosu_file_kind_of(source->file, source->file_size)->number;
    builder->model->format = kind < COUNT(formats) ? formats[kind] : NULL;
    return builder->model->format == NULL ? refuse_kind(builder, source, kind)
                                          : check_format(builder, source);
}
