// SPDX-License-Identifier: MIT
/** Window of samples for the next row; see ethosu_audio.h. */
#include <string.h>

#include "ethosu_audio.h"

size_t ethosu_audio_rows(const struct ethosu_audio_window *window, size_t samples)
{
    size_t missing = window->size - window->used;
    return samples < missing ? 0 : 1 + (samples - missing) / window->hop;
}

size_t ethosu_audio_window_take(struct ethosu_audio_window *window, const int16_t *samples,
                                size_t count)
{
    size_t room = window->size - window->used;
    size_t taken = count < room ? count : room;
    memcpy(window->samples + window->used, samples, taken * sizeof(*samples));
    window->used += taken;
    return taken;
}

bool ethosu_audio_window_full(const struct ethosu_audio_window *window)
{
    return window->used == window->size;
}

void ethosu_audio_window_advance(struct ethosu_audio_window *window)
{
    window->used -= window->hop;
    memmove(window->samples, window->samples + window->hop,
            window->used * sizeof(*window->samples));
}
