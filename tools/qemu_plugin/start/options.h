// SPDX-License-Identifier: MIT
/** The plugin's arguments: -plugin libethosu_qemu.so,NAME=VALUE,... */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>

#include "board/board.h"
#include "coherence.h"
#include "memory/board_memory.h"
#include "memory/guest_memory.h"
#include "memory/memory_dump.h"
#include "npu/npu_device.h"
#include "pc/semihosting.h"

#define OPTIONS_MAX_FAULTS 8

struct options {
    const char *npu[BOARD_NPUS_MAX]; /**< accelerator config; NULL if this NPU is absent */
    struct npu_timing timing;
    struct coherence_mode coherence;
    struct guest_memory_file memories[BOARD_MEMORIES_MAX + 1];
    struct memory_size sizes[BOARD_MEMORIES_MAX + 1];
    struct memory_dump dumps[MEMORY_DUMPS_MAX + 1];
    struct semihosting_heap heap;
    bool one_console;  /**< semihosting's stderr is its stdout */
    const char *files; /**< folder of the files for semihosting; NULL: the working folder */
    bool has_vectors;
    uint32_t vectors; /**< where the CPU starts, instead of where the board's does */
    bool console;
    bool no_page;         /**< without the emulator's registers, as a chip */
    bool unmapped_silent; /**< the bus never answers where the board's table has nothing */
    bool only_tells;      /**< print QEMU's version and plugin API, and end it */
    const char *faults[OPTIONS_MAX_FAULTS + 1]; /**< to inject at start; ends with NULL */
};

/** Read all arguments. On failure prints an error and returns false. */
bool options_parse(struct options *options, int count, char **arguments);

#endif
