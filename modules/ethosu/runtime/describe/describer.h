// SPDX-License-Identifier: MIT
/** Interface of the formats to ethosu_describe.h. */
#ifndef DESCRIBER_H
#define DESCRIBER_H

#include "runtime/file/failure.h"
#include "ethosu_describe.h"
#include "runtime/file/tflite.h"

/** One format's functions; NULL if not applicable. Indices are below the counts. */
struct describer {
    int (*entry)(struct ethosu_description *description, uint32_t index,
                 struct ethosu_describe_entry *entry, struct ethosu_model_error *error);
    int (*graph)(struct ethosu_description *description, uint32_t index,
                 struct ethosu_describe_graph *graph, struct ethosu_model_error *error);
    int (*value)(struct ethosu_description *description, uint32_t index,
                 struct ethosu_describe_value *value, struct ethosu_model_error *error);
    int (*operation)(struct ethosu_description *description, uint32_t index,
                     struct ethosu_describe_operator *operation, struct ethosu_model_error *error);
    int (*npu_call)(struct ethosu_description *description, uint32_t index,
                    const struct ethosu_describe_bytes *data, struct ethosu_describe_npu_call *call,
                    struct ethosu_model_error *error);
};

/** Start of ethosu_description.reader; a format may have its own members behind it. */
struct reader {
    const struct describer *format;
    uint32_t graph;     /**< the current one, or UINT32_MAX */
    uint32_t values;    /**< of it */
    uint32_t operators; /**< of it */
    struct tflite tflite;
    struct tflite_subgraph subgraph;
};

static inline struct reader *reader_of(struct ethosu_description *description)
{
    return (struct reader *)(void *)description->reader;
}

/** Initialise the description of a file. */
void describe_start(struct ethosu_description *description, const void *file, size_t size);

/** Count reads in advance; rejects a file that causes too many. */
int describe_take(struct ethosu_description *description, uint64_t reads,
                  struct ethosu_model_error *error);

/** Reject malformed or truncated data. */
int describe_damage(const struct flatbuffer *fb, struct ethosu_model_error *error);

/** Get the elements of a vector, of `size` bytes each, and count their reads. */
int describe_list(struct ethosu_description *description, const struct flatbuffer *fb,
                  struct fb_vector list, uint32_t size, struct ethosu_describe_bytes *bytes,
                  struct ethosu_model_error *error);

static inline struct ethosu_describe_bytes describe_text(struct tflite_text text)
{
    return (struct ethosu_describe_bytes){text.bytes, text.length};
}

/** Open a `.tflite` file and set the counts. */
int describe_open_tflite(struct ethosu_description *description, const void *file, uint32_t size,
                         struct ethosu_model_error *error);

#endif
