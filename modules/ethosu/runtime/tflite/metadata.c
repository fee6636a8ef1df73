// SPDX-License-Identifier: MIT
/** Finds a metadata entry of a `.tflite` file. */
#include "runtime/tflite/tflite_format.h"

#include <string.h>

const void *tflite_get_metadata(const struct ethosu_model *model, const char *name, uint32_t *size)
{
    static const char own[] = "ethosu_"; // entries about the first subgraph, from `ethosu compile`
    struct tflite file;
    if ((model->method != 0 && strncmp(name, own, sizeof own - 1) == 0) ||
        !tflite_open(&file, model->file, model->file_size)) {
        return NULL;
    }
    for (uint32_t i = 0; i < file.root.metadata.count && !file.fb.bad; i++) {
        struct tflite_entry entry = tflite_get_entry(&file, i);
        if (tflite_text_is(entry.name, name)) {
            struct fb_vector data = tflite_get_buffer(&file, entry.buffer);
            if (!file.fb.bad && data.count != 0) {
                *size = data.count;
                return file.fb.data + data.position;
            }
        }
    }
    return NULL;
}
