// SPDX-License-Identifier: MIT
/** The mutator of payloads, for libFuzzer's targets: alone, or in a program's delegate. */
#ifndef MUTATE_PAYLOAD_H
#define MUTATE_PAYLOAD_H

#include <stddef.h>
#include <stdint.h>

/**
 * Change a payload: mostly its stream, by mutate_stream.h, and then the lengths before it;
 * sometimes what is before the stream, or any bytes. Random bytes seldom leave a stream that the
 * verifier walks to its end.
 *
 * @return  its new size, at most `max_size`
 */
size_t mutate_payload(uint8_t *data, size_t size, size_t max_size);

/** The same for a payload inside of a file; a shorter stream leaves actions that do nothing. */
void mutate_payload_in_place(uint8_t *data, size_t size);

#endif
