// SPDX-License-Identifier: MIT
/** Everything that ethosu_describe.h says of the bytes of a file. */
#ifndef DESCRIBE_ALL_H
#define DESCRIBE_ALL_H

#include "ethosu_describe.h"

/** Describe a file, and read the last byte of all that is returned; a refusal without a reason
 * aborts. */
int describe_all(const void *file, size_t size, struct ethosu_model_error *error);

#endif
