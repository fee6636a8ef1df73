// SPDX-License-Identifier: MIT
/** What the files of the device call of each other. */
#ifndef NPU_DEVICE_H
#define NPU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

struct npu;
struct npu_operator;

/** What a row of the command table does; both NULL if it stores a register. */
struct npu_command_action {
    const struct npu_operator *operator; /**< for operations */
    /** For commands that only control the stream. Returns false to stop the stream. */
    bool (*control)(struct npu *npu, uint32_t param);
};

const struct npu_command_action *npu_action_of(int row);

/** Decode, execute and report one operation. */
bool npu_perform(struct npu *npu, const struct npu_operator *operator, uint32_t param);

/** Count the commands fetched since the last call, in whole beats; `all` includes the last beat. */
void npu_count_commands(struct npu *npu, bool all);

/** Advance time by npu_elapsed_cycles() and count its events. */
uint64_t npu_advance_time(struct npu *npu);

void npu_registers_reset(struct npu *npu);
void npu_update_irq(struct npu *npu);

#endif
