// SPDX-License-Identifier: MIT
/** The port's part of module `time`; included by MicroPython's extmod/modtime.c. */
#include "clock.h"
#include "shared/timeutils/timeutils.h"

static mp_obj_t mp_time_time_get(void)
{
    return mp_obj_new_int_from_uint(clock_epoch_s());
}

static mp_obj_t mp_time_localtime_get(void)
{
    timeutils_struct_time_t tm;
    timeutils_seconds_since_epoch_to_struct_time(clock_epoch_s(), &tm);
    mp_obj_t fields[] = {
        mp_obj_new_int(tm.tm_year), mp_obj_new_int(tm.tm_mon),  mp_obj_new_int(tm.tm_mday),
        mp_obj_new_int(tm.tm_hour), mp_obj_new_int(tm.tm_min),  mp_obj_new_int(tm.tm_sec),
        mp_obj_new_int(tm.tm_wday), mp_obj_new_int(tm.tm_yday),
    };
    return mp_obj_new_tuple(MP_ARRAY_SIZE(fields), fields);
}
