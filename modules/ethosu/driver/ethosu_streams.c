// SPDX-License-Identifier: MIT
/**
 * Cache of streams verified and prepared by ethosu_invoke_*().
 *
 * A stream is identified by its payload's address and size, the sizes of its bases, and its bytes.
 * In memory that nothing writes, according to the board's table or the caller, the address is
 * enough. Elsewhere a checksum of the whole payload is compared at each inference: it detects every
 * change of one word, and 2^32 - 1 of 2^32 other changes. It does not resist an attacker who crafts
 * two payloads with the same checksum, see ethosu_ext_forget().
 */
#include "ethosu_streams.h"

#include "ethosu_memory.h"
#include "ethosu_pool.h"
#include "ethosu_sync.h"

#ifdef __ARM_FEATURE_MVE
#include <arm_mve.h>
#endif

#define FAST_SCRATCH 2

/** Number of streams kept for all NPUs; at least the number of NPUs that run concurrently. */
#ifndef ETHOSU_EXT_STREAMS
#define ETHOSU_EXT_STREAMS 4
#endif

/** An entry is owned by the inference that has set in_use, until that has ended. */
static struct ethosu_ext_stream streams[ETHOSU_EXT_STREAMS];

/** The entry to replace next. */
static volatile uint32_t oldest;

/* ---- is it the same? ---- */

#define FACTOR 0x9E3779B1u // odd, so that every change of one word is detected

/** A polynomial of the words modulo 2^32. */
static uint32_t add_words(uint32_t sum, const uint32_t *word, const uint32_t *end)
{
    for (; word != end; word++) {
        sum = sum * FACTOR + *word;
    }
    return sum;
}

/** Vectorised: four polynomials, each over every fourth word, and a polynomial of the four. */
static __attribute__((noinline)) uint32_t checksum(const struct ethosu_ext_stream *stream)
{
    const uint32_t *word = stream->payload;
    const uint32_t *end = word + stream->checked_words;
    uint32_t sum = 0;
#ifdef __ARM_FEATURE_MVE
    enum { AT_ONCE = 32 };
    uint32x4_t sums = vdupq_n_u32(0);
    for (; end - word >= AT_ONCE; word += AT_ONCE) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < AT_ONCE; i += 4) {
            sums = vmlaq_n_u32(vld1q_u32(word + i), sums, FACTOR);
        }
    }
    uint32_t four[4];
    vst1q_u32(four, sums);
    sum = add_words(sum, four, four + 4);
#endif
    return add_words(sum, word, end);
}

/** Is this memory immutable while the firmware runs? */
static bool is_constant(const void *start, size_t size)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)start, size);
    return memory != NULL && memory->cpu == ETHOSU_CPU_CODE &&
           !(memory->masters & (ETHOSU_NPU_WRITES | ETHOSU_DMA_WRITES));
}

/** Difference between the bases of an inference and of an entry. */
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

/** May be changed by another thread in ethosu_ext_forget(). */
static inline uint32_t settings_of(const struct ethosu_driver *drv)
{
    return __atomic_load_n(&drv->settings, __ATOMIC_RELAXED);
}

/** Was this entry made for the payload, with these settings, on this NPU? */
static inline bool matches(const struct ethosu_ext_stream *stream, uint32_t settings,
                           const struct ethosu_ext_call *call)
{
    return stream->payload == call->payload && stream->payload_size == call->payload_size &&
           stream->settings == settings;
}

static inline bool same_content(const struct ethosu_ext_stream *stream)
{
    return stream->checked_words == 0 || checksum(stream) == stream->checksum;
}

/* ---- entries ---- */

static inline bool take(struct ethosu_ext_stream *stream)
{
    return ethosu_ext_change(&stream->in_use, 0, 1);
}

/** Take the entry of a payload; NULL if not found. */
static inline struct ethosu_ext_stream *lookup(const struct ethosu_driver *drv,
                                               const struct ethosu_ext_call *call)
{
    const uint32_t settings = settings_of(drv);
    for (uint32_t i = 0; i < ETHOSU_EXT_STREAMS; i++) {
        // Another thread may own and change it, so check, take it and check again.
        if (__atomic_load_n(&streams[i].payload, __ATOMIC_RELAXED) == call->payload &&
            __atomic_load_n(&streams[i].settings, __ATOMIC_RELAXED) == settings &&
            take(&streams[i])) {
            if (matches(&streams[i], settings, call)) {
                return &streams[i];
            }
            ethosu_ext_stream_release(&streams[i]);
        }
    }
    return NULL;
}

/** Take an entry to overwrite; NULL if all are in use. */
static struct ethosu_ext_stream *take_oldest(struct ethosu_driver *drv)
{
    for (uint32_t i = 0; i < ETHOSU_EXT_STREAMS; i++) {
        uint32_t next = ethosu_ext_load(&oldest) % ETHOSU_EXT_STREAMS;
        ethosu_ext_store(&oldest, next + 1);
        if (take(&streams[next])) {
            return &streams[next];
        }
    }
    ethosu_ext_refuse(&drv->fault, ETHOSU_EXT_E_STREAMS, -1, ETHOSU_EXT_STREAMS, 0);
    return NULL;
}

/** Prepare the inference and record its inputs. */
static int make(struct ethosu_driver *drv, struct ethosu_ext_stream *stream,
                const struct ethosu_ext_call *call, bool verified)
{
    const uint32_t settings =
        settings_of(drv); // done first, so that a concurrent change invalidates the entry
    unsigned flags = drv->skip_verify ? ETHOSU_EXT_NO_VERIFY : 0;
    flags |= verified ? ETHOSU_EXT_KNOWN_WRITES : 0;
    __atomic_store_n(&stream->payload, NULL, __ATOMIC_RELAXED); // nothing, if this fails
    RETURN_IF_ERROR(ethosu_ext_prepare_with(drv, &stream->program, call, flags, &stream->writes));
    stream->payload_size = call->payload_size;
    __atomic_store_n(&stream->settings, settings, __ATOMIC_RELAXED);
    stream->reservation = ethosu_ext_reservation(drv);
    // An unverified stream was not read, so the program depends only on the words before
    // it.
    size_t bytes = drv->skip_verify ? stream->program.cpu_stream - (uintptr_t)call->payload
                                    : call->payload_size;
    bool constant = drv->constant_payloads || is_constant(call->payload, call->payload_size);
    stream->checked_words = constant ? 0 : (uint32_t)(bytes / 4);
    __atomic_store_n(&stream->payload, call->payload, __ATOMIC_RELAXED);
    stream->checksum = checksum(stream);
    return 0;
}

/** Rebuild the entry; on failure release it and return NULL. */
static __attribute__((noinline)) struct ethosu_ext_stream *
rebuild(struct ethosu_driver *drv, struct ethosu_ext_stream *stream,
        const struct ethosu_ext_call *call, bool verified)
{
    if (stream != NULL && make(drv, stream, call, verified) != 0) {
        ethosu_ext_stream_release(stream);
        return NULL;
    }
    return stream;
}

/** A previous holder may have written stream and constants. */
static inline void clean_again(const struct ethosu_driver *drv, struct ethosu_ext_stream *stream)
{
    stream->reservation = ethosu_ext_reservation(drv);
    if (stream->checked_words != 0 || stream->program.clean_once != 0) {
        ethosu_ext_clean(&stream->program);
    }
}

struct ethosu_ext_stream *ethosu_ext_stream_find(struct ethosu_driver *drv,
                                                 const struct ethosu_ext_call *call)
{
    struct ethosu_ext_stream *stream = lookup(drv, call);
    if (stream == NULL) {
        return rebuild(drv, take_oldest(drv), call, false);
    }
    struct difference different = compare_bases(drv, stream, call);
    bool verified = different.size == 0 && same_content(stream);
    if (!verified || different.place != 0) {
        return rebuild(drv, stream, call, verified);
    }
    if (stream->reservation != ethosu_ext_reservation(drv)) {
        clean_again(drv, stream);
    }
    return stream;
}
