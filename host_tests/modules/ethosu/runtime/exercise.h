// SPDX-License-Identifier: MIT
/** Everything that the runtime can do with the bytes of a file without an NPU. */
#ifndef EXERCISE_H
#define EXERCISE_H

#include "ethosu_model.h"

/** Load the file into memory of exactly the measured size, and look at all of it. */
int exercise(const void *file, size_t size, struct ethosu_model_error *error);

/**
 * ethosu_model_load(), under AddressSanitizer: a model that keeps no data in the arena may be
 * loaded into one where another model is at work, so its load neither reads nor writes there.
 */
int exercise_load(const struct ethosu_model_source *source,
                  const struct ethosu_model_memory *memory, struct ethosu_model **model,
                  struct ethosu_model_error *error);

/** Look at all that a loaded model tells, write its inputs and outputs, and reset it. */
void exercise_model(struct ethosu_model *model);

#endif
