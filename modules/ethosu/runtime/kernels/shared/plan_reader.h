// SPDX-License-Identifier: MIT
/** Reads the memory plan of plan.h. */
#ifndef PLAN_READER_H
#define PLAN_READER_H

#include "runtime/build/builder.h"

/** The scratch of an operator. */
struct plan_scratch {
    uint32_t offset; /**< in the arena */
    uint32_t size;   /**< bytes */
};

/** Check the plan's header and entries, and set the arena size as planned. */
int plan_open(struct builder *builder);

/**
 * The scratch planned for the current operator.
 *
 * @param version  version of its kernel
 * @param needed   bytes that this kernel needs
 */
int plan_get_scratch(struct builder *builder, uint32_t version, uint32_t needed,
                     struct plan_scratch *scratch);

/** The scratch planned for the current operator, unchecked; 0 bytes if none is planned. */
struct plan_scratch plan_find_scratch(struct builder *builder);

#endif
