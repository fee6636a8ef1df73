// SPDX-License-Identifier: MIT
/** Reads the memory plan of plan.h and rejects invalid ones. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "builder.h"

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

/** Reject a plan in which an operator overwrites a tensor that is still needed. */
int plan_check_overlaps(struct builder *builder);

#endif
