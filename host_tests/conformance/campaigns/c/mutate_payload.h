// SPDX-License-Identifier: MIT
/** Mutator of payloads for libFuzzer targets: of a payload alone, or in a program's delegate. */
#ifndef MUTATE_PAYLOAD_H
#define MUTATE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/**
 * Change a payload: mostly its stream (mutate_stream.h) and the lengths before it, sometimes the
 * words before the stream, or any bytes. With random bytes alone, the verifier would rarely reach
 * the end of a stream.
 *
 * @return  its new size, at most `max_size`
 */
size_t mutate_payload(uint8_t *data, size_t size, size_t max_size);

/**
 * The same for a payload inside a file. A shorter stream is padded with actions that do nothing.
 */
void mutate_payload_in_place(uint8_t *data, size_t size);

#endif
