// SPDX-License-Identifier: MIT
/**
 * libFuzzer target: parse any payload and verify its stream. AddressSanitizer reports each read
 * outside the payload, UBSan each sum that overflows.
 */
#include "mutate_payload.h"
#include "ethosu_ext.h"
#include "libfuzzer.h"
#include "mutate_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    draw_from(seed);
    return mutate_payload(data, size, max_size);
}

static struct {
    uint64_t inputs, parsed, accepted;
} counts;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint32_t configs[] = {0x00001807, 0x10006009, 0x2000251A};
    static const size_t sizes[3] = {65536, 262144, 4096};
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault;
    char text[200];
    int error = ethosu_ext_parse_payload(data, size, &payload, &fault);
    bool parsed = error == 0;
    counts.inputs++;
    counts.parsed += parsed;
    for (unsigned i = 0; i < 3 && parsed; i++) {
        struct ethosu_ext_writes writes;
        if (payload.stream < data || payload.stream + payload.stream_bytes > data + size) {
            abort();
        }
        error = ethosu_ext_verify(payload.stream, payload.stream_bytes, configs[i], sizes, 3,
                                  &writes, &fault);
        counts.accepted += error == 0;
    }
    if (error != 0 && ethosu_ext_describe(&fault, text, sizeof text) >= sizeof text) {
        abort();
    }
    return 0;
}

__attribute__((destructor)) static void print_counts(void)
{
    fprintf(stderr,
            "\n{\"inputs\": %" PRIu64 ", \"parsed\": %" PRIu64 ", \"accepted\": %" PRIu64 "}\n",
            counts.inputs, counts.parsed, counts.accepted);
}
