// SPDX-License-Identifier: MIT
/** What an ExecuTorch program is to the runtime. */
#ifndef PROGRAM_FORMAT_H
#define PROGRAM_FORMAT_H

#include "runtime/build/format.h"
#include "runtime/describe/describer.h"

extern const struct model_format program_format;
extern const struct model_facts program_facts;

/** Open a program, its data file or a bundle, and set the counts. */
int describe_open_program(struct ethosu_description *description, const void *file, uint32_t size,
                          struct ethosu_model_error *error);
int describe_open_data(struct ethosu_description *description, const void *file, uint32_t size,
                       struct ethosu_model_error *error);
int describe_open_bundle(struct ethosu_description *description, const void *file, uint32_t size,
                         struct ethosu_model_error *error);

#endif
