// SPDX-License-Identifier: MIT
/**
 * A timing adapter of a Corstone subsystem: a bridge in front of a port of the NPU that slows it
 * down as its registers say. Here they change the estimated time of a run, and nothing else.
 */
#ifndef TIMING_ADAPTER_H
#define TIMING_ADAPTER_H

#include <stdint.h>

#include "npu_sim.h"

struct timing_adapter;

/**
 * Create one in the machine. `npu` is the name of its NPU in messages, `word` the bytes of its
 * port's bus. On failure ends QEMU with an error message.
 */
struct timing_adapter *timing_adapter_create(const char *npu, uint32_t base, unsigned word);

void timing_adapter_reset(struct timing_adapter *adapter);

/** The settings for the estimate; reports those that a real one could not work with. */
struct npu_adapter timing_adapter_settings(struct timing_adapter *adapter);

#endif
