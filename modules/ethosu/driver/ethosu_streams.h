// SPDX-License-Identifier: MIT
/** What ethosu_invoke_*() has verified and prepared. */
#ifndef ETHOSU_STREAMS_H
#define ETHOSU_STREAMS_H

#include "ethosu_fault.h"
#include "ethosu_prepare.h"
#include "ethosu_sync.h"

/** A payload that was prepared, and what tells whether it still is the same. */
struct ethosu_ext_stream {
    volatile uint32_t in_use; /**< by an inference, from the look-up to its end */
    const void *payload;      /**< NULL: the entry is empty */
    size_t payload_size;
    uint32_t settings;      /**< of the handle, when this was prepared */
    uint32_t reservation;   /**< in which the program was cleaned last */
    uint32_t checked_words; /**< of the payload, from its start; 0: nobody can change them */
    uint32_t checksum;
    struct ethosu_ext_writes writes;
    struct ethosu_ext_program program;
};

/**
 * Find the program of an inference, or verify and prepare it. It must be given back.
 *
 * @return  NULL: the handle's fault says why not
 */
struct ethosu_ext_stream *ethosu_ext_stream_find(struct ethosu_driver *drv,
                                                 const struct ethosu_ext_call *call);

static inline void ethosu_ext_stream_give_back(struct ethosu_ext_stream *stream)
{
    ethosu_ext_store(&stream->in_use, 0);
}

#endif
