// SPDX-License-Identifier: MIT
/** The complete description of a file by ethosu_describe.h. */
#ifndef DESCRIBE_ALL_H
#define DESCRIBE_ALL_H

#include "ethosu_describe.h"

/**
 * Describe a file, and read the last byte of each result. Aborts on a rejection without a reason.
 */
int describe_all(const void *file, size_t size, struct ethosu_model_error *error);

#endif
