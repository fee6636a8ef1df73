// SPDX-License-Identifier: MIT
/** Runs CPU operators while the NPU runs. */
#ifndef SCHEDULE_H
#define SCHEDULE_H

#include "runtime/build/builder.h"

/** Call before an operator adds its steps: adds a wait for the NPU if needed. */
int schedule_operator(struct builder *builder, const struct tflite_operator_call *call);

/** Call after adding the step of an NPU call (NULL while measuring). */
void schedule_npu(struct builder *builder, struct step *step);

/** Call after the last operator: adds a wait for the NPU if needed. */
int schedule_end(struct builder *builder);

#endif
