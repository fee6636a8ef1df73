// SPDX-License-Identifier: MIT
/** What a `.tflite` file is to the runtime, and the stages that build its steps. */
#ifndef TFLITE_FORMAT_H
#define TFLITE_FORMAT_H

#include "runtime/build/format.h"

extern const struct model_format tflite_format;
extern const struct model_facts tflite_facts;

/** Reject an operator of a `.tflite` file. */
int tflite_refuse(struct builder *builder, int status, const char *why);

/** Metadata of a `.tflite` file. */
const void *tflite_get_metadata(const struct ethosu_model *model, const char *name, uint32_t *size);

/** Prepare all operators of a subgraph. */
int build_graph(struct builder *builder, uint32_t index);

/** Prepare an operator of the current subgraph. */
int build_operator(struct builder *builder, uint32_t index);

/** Prepare an ethos-u operator: an NPU call. */
int prepare_npu(struct builder *builder, const struct tflite_operator_call *call);

/** 0: build without resource variables, which streaming models need. */
#ifndef ETHOSU_VARIABLES
#define ETHOSU_VARIABLES 1
#endif

/** Prepare the operators of resource variables. */
int prepare_call_once(struct builder *builder, const struct tflite_operator_call *call);
int prepare_var_handle(struct builder *builder, const struct tflite_operator_call *call);
int prepare_read_variable(struct builder *builder, const struct tflite_operator_call *call);
int prepare_assign_variable(struct builder *builder, const struct tflite_operator_call *call);

/** Initialise the variables that no subgraph initialises with zeros. */
int build_zero_variables(struct builder *builder);

#endif
