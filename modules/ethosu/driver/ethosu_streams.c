// SPDX-License-Identifier: MIT
/**
 * What ethosu_invoke_*() has verified and prepared, so that the next inference need not.
 *
 * A stream is known by its payload's address and size and the sizes of its bases, and by its
 * bytes. In memory that nothing writes, as the board's table says, the address stands for
 * the bytes. Elsewhere a checksum over the whole payload is compared at each inference: it finds
 * every change of one word, and 2^32 - 1 of 2^32 others. It is no proof against somebody who
 * makes two payloads with the same checksum: see ethosu_ext_forget().
 */
#include "ethosu_streams.h"

#include "ethosu_memory.h"
#include "ethosu_sync.h"

#define FAST_SCRATCH 2

/** How many streams are kept, for all NPUs together; at least as many as NPUs that run at once. */
#ifndef ETHOSU_EXT_STREAMS
#define ETHOSU_EXT_STREAMS 4
#endif

/** An entry belongs to the inference that has set its in_use, until that has ended. */
static struct ethosu_ext_stream streams[ETHOSU_EXT_STREAMS];

/** The entry that is replaced next. */
static volatile uint32_t oldest;

/* ---- is it the same? ---- */

/**
 * A polynomial of the words modulo 2^32. The factor is odd, so no change of one word is lost. Two
 * instructions a word, so it is unrolled.
 */
static uint32_t checksum(const uint32_t *word, uint32_t count)
{
    const uint32_t factor = 0x9E3779B1u;
    uint32_t sum = count;
    for (; count >= 8; count -= 8, word += 8) {
        sum = sum * factor + word[0];
        sum = sum * factor + word[1];
        sum = sum * factor + word[2];
        sum = sum * factor + word[3];
        sum = sum * factor + word[4];
        sum = sum * factor + word[5];
        sum = sum * factor + word[6];
        sum = sum * factor + word[7];
    }
    for (; count != 0; count--) {
        sum = sum * factor + *word++;
    }
    return sum;
}

/** Can nobody change this memory while the firmware runs? */
static bool is_constant(const void *start, size_t size)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)start, size);
    return memory != NULL && memory->cpu == ETHOSU_CPU_CODE &&
           !(memory->masters & (ETHOSU_NPU_WRITES | ETHOSU_DMA_WRITES));
}

/** How the bases of an inference differ from those of an entry. */
struct difference {
    uint32_t size;
    uint32_t place;
};

static inline struct difference compare_bases(const struct ethosu_driver *drv,
                                              const struct ethosu_ext_stream *stream,
                                              const struct ethosu_ext_call *call)
{
    struct difference different = {stream->program.count ^ (uint32_t)call->count, 0};
    if (different.size != 0 || call->base == NULL || call->base_size == NULL) {
        different.size |= (uint32_t)call->count;
        return different;
    }
    const struct ethosu_ext_base *base = stream->program.base;
    const uint32_t own = drv->fast_memory != 0 ? FAST_SCRATCH : ETHOSU_EXT_MAX_BASES;
    for (uint32_t i = 0; i < (uint32_t)call->count; i++) {
        uint64_t moved = base[i].cpu ^ call->base[i];
        if (i != own) {
            different.place |= (uint32_t)moved | (uint32_t)(moved >> 32);
        }
        different.size |= (uint32_t)(base[i].size ^ call->base_size[i]);
    }
    return different;
}

/** Was this entry made for the payload, with these settings, on this NPU? */
static inline bool is_of(const struct ethosu_ext_stream *stream, const struct ethosu_driver *drv,
                         const struct ethosu_ext_call *call)
{
    return stream->payload == call->payload && stream->payload_size == call->payload_size &&
           stream->settings == drv->settings;
}

static inline bool same_content(const struct ethosu_ext_stream *stream)
{
    return stream->checked_words == 0 ||
           checksum(stream->payload, stream->checked_words) == stream->checksum;
}

/* ---- entries ---- */

static inline bool take(struct ethosu_ext_stream *stream)
{
    return ethosu_ext_change(&stream->in_use, 0, 1);
}

/** Take the entry of a payload, or else one to be overwritten. NULL: all are in use. */
static struct ethosu_ext_stream *take_one(const struct ethosu_driver *drv,
                                          const struct ethosu_ext_call *call, bool *known)
{
    *known = true;
    for (uint32_t i = 0; i < ETHOSU_EXT_STREAMS; i++) {
        // Another thread may have it, and change it: so look first, then take it and look again.
        if (__atomic_load_n(&streams[i].payload, __ATOMIC_RELAXED) == call->payload &&
            __atomic_load_n(&streams[i].settings, __ATOMIC_RELAXED) == drv->settings &&
            take(&streams[i])) {
            if (is_of(&streams[i], drv, call)) {
                return &streams[i];
            }
            ethosu_ext_stream_give_back(&streams[i]);
        }
    }
    *known = false;
    for (uint32_t i = 0; i < ETHOSU_EXT_STREAMS; i++) {
        uint32_t next = ethosu_ext_load(&oldest) % ETHOSU_EXT_STREAMS;
        ethosu_ext_store(&oldest, next + 1);
        if (take(&streams[next])) {
            return &streams[next];
        }
    }
    return NULL;
}

/** Prepare the inference and note what it was made of. */
static int make(struct ethosu_driver *drv, struct ethosu_ext_stream *stream,
                const struct ethosu_ext_call *call, bool verified)
{
    unsigned flags = drv->skip_verify ? ETHOSU_EXT_NO_VERIFY : 0;
    flags |= verified ? ETHOSU_EXT_KNOWN_WRITES : 0;
    __atomic_store_n(&stream->payload, NULL, __ATOMIC_RELAXED); // nothing, if this fails
    RETURN_IF_ERROR(ethosu_ext_prepare_with(drv, &stream->program, call, flags, &stream->writes));
    stream->payload_size = call->payload_size;
    __atomic_store_n(&stream->settings, drv->settings, __ATOMIC_RELAXED);
    stream->reservation = drv->reservation;
    // Nobody has read a stream that is not verified: then what was made depends on what is before
    // it.
    size_t bytes = drv->skip_verify ? stream->program.cpu_stream - (uintptr_t)call->payload
                                    : call->payload_size;
    stream->checked_words =
        is_constant(call->payload, call->payload_size) ? 0 : (uint32_t)(bytes / 4);
    stream->checksum = checksum(call->payload, stream->checked_words);
    __atomic_store_n(&stream->payload, call->payload, __ATOMIC_RELAXED);
    return 0;
}

/** The last holder, or somebody before this one, may have written stream and constants. */
static inline void clean_again(const struct ethosu_driver *drv, struct ethosu_ext_stream *stream)
{
    stream->reservation = drv->reservation;
    if (stream->checked_words != 0 || stream->program.clean_once != 0) {
        ethosu_ext_clean(&stream->program);
    }
}

struct ethosu_ext_stream *ethosu_ext_stream_find(struct ethosu_driver *drv,
                                                 const struct ethosu_ext_call *call)
{
    bool known;
    struct ethosu_ext_stream *stream = take_one(drv, call, &known);
    if (stream == NULL) {
        ethosu_ext_refuse(&drv->fault, ETHOSU_EXT_E_STREAMS, -1, ETHOSU_EXT_STREAMS, 0);
        return NULL;
    }
    struct difference different = compare_bases(drv, stream, call);
    bool verified = known && different.size == 0 && same_content(stream);
    if (!verified || different.place != 0) {
        if (make(drv, stream, call, verified) != 0) {
            ethosu_ext_stream_give_back(stream);
            return NULL;
        }
    } else if (stream->reservation != drv->reservation) {
        clean_again(drv, stream);
    }
    return stream;
}
