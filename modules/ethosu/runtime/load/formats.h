// SPDX-License-Identifier: MIT
/** The formats that this build has: that of an add-on if its folder is there. */
#ifndef FORMATS_H
#define FORMATS_H

#include "runtime/tflite/tflite_format.h"

#if ETHOSU_PTE
#include "executorch/format.h"
#endif

/** Set the model's format, by the contents of its file; rejects a file of another kind. */
int formats_find(struct builder *builder, const struct ethosu_model_source *source);

#endif
