// SPDX-License-Identifier: MIT
/** libFuzzer's entrance to the runtime. */
#include "exercise.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ethosu_model_error error = {""};
    if (exercise(data, size, &error) < 0 && error.text[0] == '\0') {
        abort(); // a refusal without a reason
    }
    return 0;
}
