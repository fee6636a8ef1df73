// SPDX-License-Identifier: MIT
/** Log of firmware that switches it on and supplies none: the C library's standard output. */
#include "ethosu_ext.h"

#include <stdio.h>

void ethosu_ext_log(int severity, const char *text)
{
    (void)severity;
    printf("ethosu: %s\n", text);
}
