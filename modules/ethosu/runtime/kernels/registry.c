// SPDX-License-Identifier: MIT
/**
 * The kernels of this build: all of kernels.def, or those in ETHOSU_KERNEL_LIST:
 * KERNEL(ADD) KERNEL(PAD) …, which may be empty.
 */
#include "runtime/kernels/shared/kernel.h"

static const struct kernel *const kernels[] = {
#ifdef ETHOSU_KERNEL_LIST
#define KERNEL(name) &kernel_##name,
    ETHOSU_KERNEL_LIST
#else
#define KERNEL(name, version, property) &kernel_##name,
#include "runtime/kernels/kernels.def"
#endif
        NULL,
};
#undef KERNEL

const struct kernel *kernel_find(const struct tflite_operator_call *call)
{
    const struct kernel *const *kernel = kernels;
    for (; *kernel != NULL; kernel++) {
        if ((*kernel)->code == call->code &&
            ((*kernel)->custom == NULL || tflite_text_is(call->custom, (*kernel)->custom))) {
            break;
        }
    }
    return *kernel;
}

const struct kernel *kernel_with_code(uint32_t code)
{
    const struct kernel *const *kernel = kernels;
    while (*kernel != NULL && (*kernel)->code != code) {
        kernel++;
    }
    return *kernel;
}
