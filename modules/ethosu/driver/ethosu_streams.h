// SPDX-License-Identifier: MIT
/** Cache of streams verified and prepared by ethosu_invoke_*(). */
#ifndef ETHOSU_STREAMS_H
#define ETHOSU_STREAMS_H

#include "ethosu_fault.h"
#include "ethosu_prepare.h"
#include "ethosu_sync.h"

/** A prepared payload, and the data that detects changes to it. */
struct ethosu_ext_stream {
    volatile uint32_t in_use; /**< by an inference, from look-up to end */
    const void *payload;      /**< NULL if the entry is empty */
    size_t payload_size;
    uint32_t settings;      /**< the handle's settings when this was prepared */
    uint32_t reservation;   /**< reservation in which the program was last cleaned */
    uint32_t checked_words; /**< payload words covered by the checksum; 0 if constant */
    uint32_t checksum;
    struct ethosu_ext_writes writes;
    struct ethosu_ext_program program;
};

/**
 * Find the program of an inference, or verify and prepare it. It must be released.
 *
 * @return  NULL on failure, see the handle's fault
 */
struct ethosu_ext_stream *ethosu_ext_stream_find(struct ethosu_driver *drv,
                                                 const struct ethosu_ext_call *call);

static inline void ethosu_ext_stream_release(struct ethosu_ext_stream *stream)
{
    ethosu_ext_store(&stream->in_use, 0);
}

#endif
