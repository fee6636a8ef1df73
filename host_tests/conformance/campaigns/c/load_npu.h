// SPDX-License-Identifier: MIT
/** The NPU on which load.c runs models, if the build has one, and memory that it can access. */
#ifndef LOAD_NPU_H
#define LOAD_NPU_H

#include <stddef.h>

struct ethosu_driver;

/** Allocate exactly this many bytes, aligned to 16, between two guard zones. */
void *load_npu_memory(size_t size);
void load_npu_free(void *memory);

/** A reserved NPU of this config; NULL if the build has none. */
struct ethosu_driver *load_npu_driver(const char *config);

/** An inference on it was abandoned. */
void load_npu_stop(struct ethosu_driver *driver);

/** End the program if a guard zone was written. */
void load_npu_check(void);

#endif
