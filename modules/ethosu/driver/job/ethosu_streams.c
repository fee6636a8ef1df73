// SPDX-License-Identifier: MIT
/**
 * Payloads verified and prepared by ethosu_invoke_*(), a few in each handle.
 *
 * A stream is identified by its payload's address and size, the sizes of its bases, and its bytes.
 * In memory that nothing writes, according to the board's table or the caller, the address is
 * enough. Elsewhere a checksum of the whole payload is compared at each inference: it detects every
 * change of one word, and 2^32 - 1 of 2^32 other changes. It does not resist an attacker who crafts
 * two payloads with the same checksum, see ethosu_ext_forget().
 */
#include "driver/job/ethosu_streams.h"

#include "driver/base/ethosu_fault.h"
#include "ethosu_memory.h"
#include "driver/job/ethosu_pool.h"
#include "driver/payload/ethosu_prepare.h"
#include "driver/base/ethosu_sync.h"

#if ETHOSU_EXT_STREAMS

#ifdef __ARM_FEATURE_MVE
#include <arm_mve.h>
#endif

#define FAST_SCRATCH 2

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
    uint32_t left = stream->checked_words;
#ifdef __ARM_FEATURE_MVE
    enum { VECTOR = 4, AT_ONCE = 8 * VECTOR };
    uint32x4_t sums = vdupq_n_u32(0);
    for (uint32_t blocks = left / AT_ONCE; blocks != 0; blocks--, word += AT_ONCE) {
#pragma GCC unroll 8
        for (uint32_t i = 0; i < AT_ONCE; i += VECTOR) {
            sums = vmlaq_n_u32(vld1q_u32(word + i), sums, FACTOR);
        }
    }
    left %= AT_ONCE;
    for (uint32_t vectors = (left + VECTOR - 1) / VECTOR; vectors != 0; vectors--) {
        sums = vmlaq_n_u32(vld1q_z_u32(word, vctp32q(left)), sums, FACTOR);
        word += VECTOR;
        left -= VECTOR;
    }
    uint32_t four[VECTOR];
    vst1q_u32(four, sums);
    word = four;
    left = VECTOR;
#endif
    return add_words(0, word, word + left);
}

/** Is this memory immutable while the firmware runs? */
static bool is_constant(const void *start, size_t size)
{
    const struct ethosu_memory *memory = ethosu_ext_memory_find((uintptr_t)start, size);
    return memory != NULL && memory->cpu == ETHOSU_CPU_CODE &&
           !(memory->masters & (ETHOSU_NPU_WRITES | ETHOSU_DMA_WRITES));
}

/** Do bases differ in place or size from those of an entry? 0: no. */
static inline uint32_t compare_bases(const struct ethosu_ext_base *base, const uint64_t *address,
                                     const size_t *size, uint32_t count)
{
    uint32_t different = 0;
    for (; count != 0; count--, base++, address++, size++) {
        uint64_t moved = base->cpu ^ *address;
        different |= (uint32_t)moved | (uint32_t)(moved >> 32) | (uint32_t)(base->size ^ *size);
    }
    return different;
}

/** The same if the driver has its own fast scratch, so that the caller's place does not matter. */
static __attribute__((noinline)) uint32_t compare_but_fast(const struct ethosu_ext_base *base,
                                                           const uint64_t *address,
                                                           const size_t *size, uint32_t count)
{
    if (count <= FAST_SCRATCH) {
        return compare_bases(base, address, size, count);
    }
    return compare_bases(base, address, size, FAST_SCRATCH) |
           (uint32_t)(base[FAST_SCRATCH].size ^ size[FAST_SCRATCH]) |
           compare_bases(base + FAST_SCRATCH + 1, address + FAST_SCRATCH + 1,
                         size + FAST_SCRATCH + 1, count - FAST_SCRATCH - 1);
}

/** Does the job have other bases than the entry? */
static inline bool is_moved(const struct ethosu_driver *drv, const struct ethosu_ext_stream *stream)
{
    const struct ethosu_job *job = &drv->job;
    const uint32_t count = (uint32_t)job->num_base_addr;
    if (count != stream->program.count ||
        (count != 0 && (job->base_addr == NULL || job->base_addr_size == NULL))) {
        return true;
    }
    const struct ethosu_ext_base *base = stream->program.base;
    return (drv->fast_memory != 0
                ? compare_but_fast(base, job->base_addr, job->base_addr_size, count)
                : compare_bases(base, job->base_addr, job->base_addr_size, count)) != 0;
}

/** Are the sizes that the stream was verified with the same? */
static bool same_sizes(const struct ethosu_ext_stream *stream, const struct ethosu_job *job)
{
    bool same = stream->program.count == (uint32_t)job->num_base_addr &&
                (job->num_base_addr == 0 || job->base_addr_size != NULL);
    for (uint32_t i = 0; same && i < stream->program.count; i++) {
        same = stream->program.base[i].size == job->base_addr_size[i];
    }
    return same;
}

/** May be changed by another thread in ethosu_ext_forget(). */
static inline uint32_t settings_of(const struct ethosu_driver *drv)
{
    return ETHOSU_EXT_GET(drv->settings);
}

static inline bool same_content(const struct ethosu_ext_stream *stream)
{
    return stream->checked_words == 0 || checksum(stream) == stream->checksum;
}

/* ---- entries ---- */

/** The entry made for the job's payload with the handle's settings, or NULL. */
static inline struct ethosu_ext_stream *lookup(struct ethosu_driver *drv)
{
    const struct ethosu_job *job = &drv->job;
    const uint32_t settings = settings_of(drv);
    for (uint32_t i = 0; i < ETHOSU_EXT_STREAMS; i++) {
        struct ethosu_ext_stream *stream = &drv->streams[i];
        if (stream->payload == job->custom_data_ptr &&
            stream->payload_size == (uint32_t)job->custom_data_size &&
            stream->settings == settings) {
            return stream;
        }
    }
    return NULL;
}

static struct ethosu_ext_stream *oldest(struct ethosu_driver *drv)
{
    struct ethosu_ext_stream *stream = &drv->streams[drv->next_stream];
    drv->next_stream = (drv->next_stream + 1) % ETHOSU_EXT_STREAMS;
    return stream;
}

/** Prepare the job and record its inputs. */
static int make(struct ethosu_driver *drv, struct ethosu_ext_stream *stream, bool verified)
{
    const struct ethosu_job *job = &drv->job;
    const struct ethosu_ext_call call = {job->custom_data_ptr, (size_t)job->custom_data_size,
                                         job->base_addr, job->base_addr_size, job->num_base_addr};
    // Read first, so that a concurrent change invalidates the entry.
    const uint32_t settings = settings_of(drv);
    const bool skip_verify = ETHOSU_EXT_GET(drv->skip_verify);
    unsigned flags = skip_verify ? ETHOSU_EXT_NO_VERIFY : 0;
    flags |= verified ? ETHOSU_EXT_KNOWN_WRITES : 0;
    stream->payload = NULL; // nothing, if this fails
    RETURN_IF_ERROR(ethosu_ext_prepare_with(drv, &stream->program, &call, flags, &stream->writes));
    stream->payload = call.payload;
    stream->payload_size = call.payload_size;
    stream->settings = settings;
    stream->reservation = ethosu_ext_reservation(drv);
    // An unverified stream was not read, so the program depends only on the words before it.
    size_t bytes =
        skip_verify ? stream->program.cpu_stream - (uintptr_t)call.payload : call.payload_size;
    bool constant =
        ETHOSU_EXT_GET(drv->constant_payloads) || is_constant(call.payload, call.payload_size);
    stream->checked_words = constant ? 0 : (uint32_t)(bytes / 4);
    stream->checksum = checksum(stream);
    return 0;
}

/** Make the entry (again); NULL on failure. */
static __attribute__((noinline)) const struct ethosu_ext_program *
rebuild(struct ethosu_driver *drv, struct ethosu_ext_stream *stream, bool unchanged)
{
    bool verified = unchanged && same_sizes(stream, &drv->job);
    return make(drv, stream, verified) == 0 ? &stream->program : NULL;
}

/** A previous holder may have written stream and constants. */
static inline void clean_again(struct ethosu_ext_stream *stream, uint32_t reservation)
{
    stream->reservation = reservation;
    if ((stream->checked_words | stream->program.clean_once) != 0) {
        ethosu_ext_clean(&stream->program);
    }
}

const struct ethosu_ext_program *ethosu_ext_stream_find(struct ethosu_driver *drv)
{
    struct ethosu_ext_stream *stream = lookup(drv);
    if (stream == NULL) {
        return rebuild(drv, oldest(drv), false);
    }
    bool unchanged = same_content(stream);
    if (!unchanged || is_moved(drv, stream)) {
        return rebuild(drv, stream, unchanged);
    }
    const uint32_t reservation = ethosu_ext_reservation(drv);
    if (stream->reservation != reservation) {
        clean_again(stream, reservation);
    }
    return &stream->program;
}

#endif
