// SPDX-License-Identifier: MIT
/**
 * Reports when the guest reaches addresses of its code, and when an NPU starts and ends, in
 * instructions since the machine started: the places of a time line.
 */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/qemu_api.h"

#define WATCH_MAX 32

/** Watch this address; bit 0, which marks Thumb code, is ignored. False if there are too many. */
bool watch_add(uint32_t address);

/** Is anything watched? */
bool watch_is_used(void);

/** Prepare translated code; called for each block. */
void watch(struct qemu_plugin_tb *tb);

/** If anything is watched, print what an NPU does now. */
void watch_npu(const char *npu, const char *what);

#endif
