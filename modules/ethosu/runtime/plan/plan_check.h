// SPDX-License-Identifier: MIT
/** Checks the memory plan of plan.h against the graph. */
#ifndef PLAN_CHECK_H
#define PLAN_CHECK_H

#include "runtime/build/builder.h"

/** Reject a plan in which an operator overwrites a tensor that is still needed. */
int plan_check_overlaps(struct builder *builder);

#endif
