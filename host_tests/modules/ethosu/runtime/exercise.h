// SPDX-License-Identifier: MIT
/** Everything that the runtime can do with a file without an NPU. */
#ifndef EXERCISE_H
#define EXERCISE_H

#include "ethosu_model.h"

/** Load the file into memory of exactly the measured size, and read all of it. */
int exercise(const void *file, size_t size, struct ethosu_model_error *error);

/**
 * ethosu_model_load(), under AddressSanitizer. A model that keeps no data in the arena may be
 * loaded while another model runs in the same arena, so loading must not access the arena.
 */
int exercise_load(const struct ethosu_model_source *source,
                  const struct ethosu_model_memory *memory, struct ethosu_model **model,
                  struct ethosu_model_error *error);

/** Read all properties of a loaded model, write its inputs and outputs, and reset it. */
void exercise_model(struct ethosu_model *model);

#endif
