// SPDX-License-Identifier: MIT
/** Reading the memory plan of plan.h, and refusing one that can't be right. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "builder.h"

/** Where the scratch of an operator lies. */
struct plan_scratch {
    uint32_t offset; /**< in the arena */
    uint32_t size;   /**< bytes */
};

/** Check the plan as far as the file alone tells, and let the arena be as large as planned. */
int plan_open(struct builder *builder);

/**
 * The scratch planned for the current operator.
 *
 * @param version  of its kernel
 * @param needed   bytes that this kernel asks for
 */
int plan_get_scratch(struct builder *builder, uint32_t version, uint32_t needed,
                     struct plan_scratch *scratch);

/** The scratch planned for the current operator, checked or not; 0 bytes when there is none. */
struct plan_scratch plan_find_scratch(struct builder *builder);

/** Refuse a plan in which an operator writes over a tensor that is still wanted. */
int plan_check_overlaps(struct builder *builder);

#endif
