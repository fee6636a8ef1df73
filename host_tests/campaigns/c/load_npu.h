// SPDX-License-Identifier: MIT
/** The NPU that load.c runs models on, if the build has one, and memory that it sees. */
#ifndef LOAD_NPU_H
#define LOAD_NPU_H

#include <stddef.h>

struct ethosu_driver;

/** Exactly so many bytes, with guard zones on either side, aligned to 16. */
void *load_npu_memory(size_t size);
void load_npu_free(void *memory);

/** A reserved NPU of this config; NULL: there is none. */
struct ethosu_driver *load_npu_driver(const char *config);

/** An inference on it was left. */
void load_npu_stop(struct ethosu_driver *driver);

/** End the program if a guard zone was written. */
void load_npu_check(void);

#endif
