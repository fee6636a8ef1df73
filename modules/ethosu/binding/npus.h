// SPDX-License-Identifier: MIT
/** The NPUs of the board, as the module serves them. */
#ifndef NPUS_H
#define NPUS_H

#include "job.h"

/** NPUs that the module serves; a board may have fewer. */
#define BINDING_MAX_NPUS 4

/** Initialise the board's NPUs; those that are ready already stay as they are. */
void npus_init(void);

/** For soft reset, and before the machine is reset: no NPU works in memory after this. */
void ethosu_deinit_all(void);

/** The NPU that an argument names: None (the first), an index, or a config's name. Raises. */
struct ethosu_driver *npus_choose(mp_obj_t which);

/** Position of an NPU in npus(). */
size_t npus_index(const struct ethosu_driver *npu);

/** Is a job under way on one of them? */
bool npus_are_busy(void);

/** Reserve this NPU, and wait at most so many milliseconds for it. Raises. */
void npus_reserve(struct ethosu_driver *npu, uint64_t timeout);

/** Name of an NPU's config as a str, "ethos-u55-128". */
mp_obj_t npus_config(const struct ethosu_driver *npu);

/** npus(): the configs of the board's NPUs. */
MP_DECLARE_CONST_FUN_OBJ_0(npus_obj);

#endif
