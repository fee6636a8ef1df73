// SPDX-License-Identifier: MIT
/** Python module `ethosu_audio`: internal declarations. */
#ifndef AUDIO_H
#define AUDIO_H

#include "ethosu_audio.h"
#include "py/obj.h"

extern const mp_obj_type_t audio_micro_type;
extern const mp_obj_type_t audio_mfcc_type;
extern const mp_obj_type_t audio_log_mel_type;
extern const mp_obj_type_t audio_ring_type;

/** Samples in memory: an array('h'), or the bytes of one. */
struct audio_samples {
    int16_t *data;
    size_t count;
};

/**
 * Samples of a buffer argument. Raises TypeError or ValueError.
 *
 * @param flags  MP_BUFFER_READ or MP_BUFFER_WRITE
 * @param what   name of the argument, for the message
 */
struct audio_samples audio_get_samples(mp_obj_t object, mp_uint_t flags, const char *what);

/** The ring of a Python object, or NULL if the object is not a ring. */
struct ethosu_audio_ring *audio_ring_of(mp_obj_t object);

#endif
