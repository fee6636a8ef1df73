// SPDX-License-Identifier: MIT
/** libFuzzer target: the weight decoder takes any bytes, and writes within its capacity. */
#include <stdlib.h>
#include <string.h>

#include "../mlw.h"

enum { CAPACITY = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct npu_mlw_work work;
    uint8_t *stream = malloc(size + 1);
    int16_t *out = malloc(CAPACITY * sizeof *out);
    size_t count = 0;
    memcpy(stream, data, size);
    npu_mlw_decode(stream, size, &work, out, CAPACITY, &count);
    if (count > CAPACITY) {
        abort();
    }
    free(out);
    free(stream);
    return 0;
}
