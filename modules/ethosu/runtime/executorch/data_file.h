// SPDX-License-Identifier: MIT
/**
 * A data file of ExecuTorch programs (.ptd, "FlatTensor"): data that a program names. Source of the
 * layout: extension/flat_tensor of pytorch/executorch 1.5.
 */
#ifndef DATA_FILE_H
#define DATA_FILE_H

#include "program.h"

/** Find data by its name; false: it is not there, or the file is malformed. */
bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data);

#endif
