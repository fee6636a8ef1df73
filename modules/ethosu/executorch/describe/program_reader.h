// SPDX-License-Identifier: MIT
/** How a description reads an ExecuTorch program or a bundle. */
#ifndef PROGRAM_READER_H
#define PROGRAM_READER_H

#include "executorch/file/program.h"
#include "executorch/format.h"

/** Contents of ethosu_description.reader. */
struct program_reader {
    struct reader base;
    struct flatbuffer bundle; /**< the tables of a bundle */
    struct fb_vector suites;  /**< of them */
    struct fb_vector ends[2]; /**< inputs and outputs of the current case */
    struct program program;
};

_Static_assert(sizeof(struct program_reader) <= sizeof((struct ethosu_description){0}.reader),
               "reader");

static inline struct program_reader *program_reader_of(struct ethosu_description *description)
{
    return (struct program_reader *)(void *)description->reader;
}

#endif
