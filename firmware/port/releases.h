// SPDX-License-Identifier: MIT
/** What differs between MicroPython's releases, for C; releases.mk has that for make. */
#ifndef FIRMWARE_RELEASES_H
#define FIRMWARE_RELEASES_H

#include <stdint.h>

#if MICROPY_VERSION_MINOR < 27

// From 1.27 on, py/mpconfig.h defines them so.
typedef intptr_t mp_int_t;
typedef uintptr_t mp_uint_t;

/** Define what extmod/modtime.c asks for the present time, which `fill` puts into a structure. */
#define RELEASES_LOCALTIME(fill)                                                                \
    static mp_obj_t mp_time_localtime_get(void)                                                 \
    {                                                                                           \
        timeutils_struct_time_t tm;                                                             \
        fill(&tm);                                                                              \
        mp_obj_t fields[] = {                                                                   \
            mp_obj_new_int(tm.tm_year), mp_obj_new_int(tm.tm_mon),  mp_obj_new_int(tm.tm_mday), \
            mp_obj_new_int(tm.tm_hour), mp_obj_new_int(tm.tm_min),  mp_obj_new_int(tm.tm_sec),  \
            mp_obj_new_int(tm.tm_wday), mp_obj_new_int(tm.tm_yday),                             \
        };                                                                                      \
        return mp_obj_new_tuple(MP_ARRAY_SIZE(fields), fields);                                 \
    }

#else

#define RELEASES_LOCALTIME(fill)                                   \
    static void mp_time_localtime_get(timeutils_struct_time_t *tm) \
    {                                                              \
        fill(tm);                                                  \
    }

#endif

#endif
