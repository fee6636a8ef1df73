// SPDX-License-Identifier: MIT
/**
 * Counts how often CMSIS-NN computes an operator, in a program compiled with -finstrument-
 * functions. At the end the count is written to the file named by CMSIS_NN_CALLS.
 */
#include <arm_nnfunctions.h>

#include <stdio.h>
#include <stdlib.h>

#define UNTRACED __attribute__((no_instrument_function))

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

static unsigned calls;

UNTRACED void __cyg_profile_func_enter(void *function, void *caller)
{
    (void)caller;
    calls += function == (void *)arm_convolve_wrapper_s8 ||
             function == (void *)arm_convolve_wrapper_s16 ||
             function == (void *)arm_depthwise_conv_wrapper_s8 ||
             function == (void *)arm_depthwise_conv_wrapper_s16 ||
             function == (void *)arm_fully_connected_wrapper_s8 ||
             function == (void *)arm_fully_connected_s16 ||
             function == (void *)arm_transpose_conv_wrapper_s8;
}

UNTRACED void __cyg_profile_func_exit(void *function, void *caller)
{
    (void)function;
    (void)caller;
}

__attribute__((destructor)) UNTRACED static void write_calls(void)
{
    const char *path = getenv("CMSIS_NN_CALLS");
    FILE *file = path == NULL ? NULL : fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%u\n", calls);
        fclose(file);
    }
}
