// SPDX-License-Identifier: MIT
/** All functions that the plugin needs of a QEMU with this API; host.c replaces some. */
#include <stdlib.h>

#include "base/qemu_api.h"

#define STUB(result, name, parameters)                \
    __attribute__((noreturn)) result name parameters; \
    result name parameters                            \
    {                                                 \
        abort();                                      \
    }
QEMU_FUNCTIONS(STUB)
#if API == 1
QEMU_FUNCTIONS_API_1(STUB)
#else
QEMU_FUNCTIONS_API_2(STUB)
#endif
