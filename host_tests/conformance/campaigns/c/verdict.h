// SPDX-License-Identifier: MIT
/** The verifier's verdict on a stream, in the same format in 32-bit and 64-bit builds. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stdint.h>

#define REGIONS 8u

/** Header of a fuzzer input; the stream and the contents of region 0 follow. */
struct stream_header {
    uint32_t origin; /**< number of the stream of Vela's that it was, which no change changes */
    uint32_t npu;    /**< its index among npu_configs() */
    uint32_t regions;
    uint32_t sizes[REGIONS]; /**< bytes */
    uint32_t count;          /**< words of the stream */
};

struct verdict {
    uint64_t found, expected;
    uint64_t start[REGIONS], end[REGIONS]; /**< written; both 0: nothing is */
    int32_t error, code, index;
    uint32_t detail;
};

/** Ask the verifier about a stream for an NPU with this CONFIG register. */
void ask_verdict(const struct stream_header *header, uint32_t config, const uint32_t *words,
                 struct verdict *verdict);

#endif
