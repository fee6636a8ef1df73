// SPDX-License-Identifier: MIT
/** A microphone whose samples are written to a ring by the SysTick interrupt, like a DMA's. */
#include "modemulator.h"

#include "modules/ethosu/binding/media/audio.h"
#include "py/runtime.h"
#include "shared/runtime/softtimer.h"

/** Maximum number of samples per interrupt. */
#define MAX_SAMPLES 256

/** On Python's heap, kept alive by its timer; a soft reset ends both. */
struct microphone {
    soft_timer_entry_t timer;
    mp_obj_t ring;
    uint32_t next;
    uint32_t samples; /**< of each interrupt */
    uint32_t left;    /**< remaining interrupts */
};

/** Called in the interrupt. */
static void write_samples(soft_timer_entry_t *timer)
{
    struct microphone *self = (struct microphone *)timer;
    int16_t samples[MAX_SAMPLES];
    for (uint32_t i = 0; i < self->samples; i++) {
        samples[i] = (int16_t)self->next++;
    }
    ethosu_audio_ring_write(audio_ring_of(self->ring), samples, self->samples);
    if (--self->left == 0) {
        timer->mode = SOFT_TIMER_MODE_ONE_SHOT;
    }
}

/**
 * microphone(ring, samples, interrupts): each of `interrupts` interrupts, one per millisecond,
 * writes `samples` samples to a Ring: 0, 1, 2, ... modulo 65536.
 */
static mp_obj_t emulator_microphone(mp_obj_t ring, mp_obj_t samples, mp_obj_t interrupts)
{
    mp_int_t count = mp_obj_get_int(samples);
    mp_int_t times = mp_obj_get_int(interrupts);
    if (audio_ring_of(ring) == NULL) {
        mp_raise_TypeError(MP_ERROR_TEXT("expected a Ring"));
    }
    if (count < 1 || count > MAX_SAMPLES || times < 1) {
        mp_raise_msg_varg(&mp_type_ValueError,
                          MP_ERROR_TEXT("%d samples, %d interrupts: expected 1 to %d, 1 or more"),
                          (int)count, (int)times, MAX_SAMPLES);
    }
    struct microphone *self = m_new0(struct microphone, 1);
    self->ring = ring;
    self->samples = (uint32_t)count;
    self->left = (uint32_t)times;
    soft_timer_static_init(&self->timer, SOFT_TIMER_MODE_PERIODIC, 1, write_samples);
    self->timer.flags |= SOFT_TIMER_FLAG_GC_ALLOCATED;
    soft_timer_insert(&self->timer, 1);
    return mp_const_none;
}
MP_DEFINE_CONST_FUN_OBJ_3(emulator_microphone_obj, emulator_microphone);
