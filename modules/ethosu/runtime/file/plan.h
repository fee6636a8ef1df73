// SPDX-License-Identifier: MIT
/**
 * The memory plan that `ethosu compile` stores in a `.tflite`.
 *
 * TensorFlow Lite's metadata `OfflineMemoryAllocation` contains the offsets of the
 * tensors. A second metadata entry, "ethosu_plan", contains the scratch of CPU
 * kernels. Its buffer consists of little-endian 32-bit words, without padding:
 *
 *     word  contents
 *     0     mark: 0x4E4C5045, the bytes "EPLN"
 *     1     version of this layout: PLAN_VERSION
 *     2     version of the planner, only for error messages
 *     3     bytes of arena used by the plan, for tensors and scratch
 *     4     number of entries
 *     5…    the entries, five words each:
 *           0  index of the operator in its subgraph, ascending
 *           1  its builtin operator code
 *           2  version of the kernel that the size was computed for; plus 256 if
 *              CMSIS-NN computes it
 *           3  offset of its scratch in the arena, a multiple of 16; 0 without scratch
 *           4  bytes of scratch; 0 if it needs none
 *
 * This is the plan of subgraph 0. That of a subgraph which a signature runs, such as 3, is in
 * "ethosu_plan:03". There is one entry for each operator of the subgraph that has a kernel in
 * kernels/, whether or not it needs scratch; kernels/README.md lists the sizes.
 * An operator without an entry has 0 bytes planned.
 *
 * A file is rejected at load if
 * - the mark, the version or a count is wrong,
 * - an offset is outside the arena or misaligned,
 * - the operator of an entry differs from the graph's,
 * - the planned scratch is smaller than the kernel needs,
 * - an operator overwrites a tensor that is still needed,
 * - state of a CPU operator is in the scratch of an NPU call.
 * With ETHOSU_ENABLE_ASSERTS planned and needed sizes and kernel versions must
 * be equal, and sizes are compared again at each run.
 */
#ifndef PLAN_H
#define PLAN_H

#include <stdint.h>

#define PLAN_NAME "ethosu_plan"
#define PLAN_MARK 0x4E4C5045u
#define PLAN_VERSION 1u

/** Words before the entries, in order. */
enum plan_header {
    PLAN_WORD_MARK,
    PLAN_WORD_VERSION,
    PLAN_WORD_PLANNER,
    PLAN_WORD_ARENA,
    PLAN_WORD_COUNT,
    PLAN_HEADER_WORDS,
};

/** Words of an entry, in order. */
enum plan_entry_word {
    PLAN_ENTRY_OPERATOR,
    PLAN_ENTRY_CODE,
    PLAN_ENTRY_KERNEL,
    PLAN_ENTRY_OFFSET,
    PLAN_ENTRY_SIZE,
    PLAN_ENTRY_WORDS,
};

#endif
