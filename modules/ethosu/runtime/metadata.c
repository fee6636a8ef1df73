// SPDX-License-Identifier: MIT
/** Finds a metadata entry; see metadata.h. */
#include "metadata.h"

#include "format.h"

/** Fields of the schema's tables Model, Metadata and Buffer. */
enum { MODEL_METADATA = 6, METADATA_NAME = 0, METADATA_BUFFER = 1, BUFFER_DATA = 0 };

const void *ethosu_model_get_metadata(const struct ethosu_model *model, const char *name,
                                      uint32_t *size)
{
    *size = 0;
    return model_facts(model)->get_metadata(model, name, size);
}

const void *tflite_get_metadata(const struct ethosu_model *model, const char *name, uint32_t *size)
{
    struct tflite file;
    if (!tflite_open(&file, model->file, model->file_size)) {
        return NULL;
    }
    struct flatbuffer *fb = &file.fb;
    struct fb_table root = fb_root(fb);
    struct fb_vector list = fb_get_vector(fb, &root, MODEL_METADATA, 4);
    for (uint32_t i = 0; i < list.count && !fb->bad; i++) {
        struct fb_table entry = fb_table_at(fb, &list, i);
        if (tflite_text_is(tflite_get_text(&file, &entry, METADATA_NAME), name)) {
            uint32_t index = fb_get_u32(fb, &entry, METADATA_BUFFER, 0);
            struct fb_table buffer = fb_table_at(fb, &file.buffers, index);
            struct fb_vector data = fb_get_vector(fb, &buffer, BUFFER_DATA, 1);
            if (!fb->bad && data.count != 0) {
                *size = data.count;
                return fb->data + data.position;
            }
        }
    }
    return NULL;
}
