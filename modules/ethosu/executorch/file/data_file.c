// SPDX-License-Identifier: MIT
/** Reads a data file of ExecuTorch programs; see data_file.h. */
#include "executorch/file/data_file.h"

bool data_file_find(const void *file, uint32_t size, struct program_bytes name,
                    struct program_bytes *data)
{
    struct program program;
    return data_file_open(&program, file, size) && program_get_named(&program, name, data);
}
