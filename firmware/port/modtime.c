// SPDX-License-Identifier: MIT
/** The port's part of module `time`; included by MicroPython's extmod/modtime.c. */
#include "clock.h"
#include "shared/timeutils/timeutils.h"

static mp_obj_t mp_time_time_get(void)
{
    return mp_obj_new_int_from_uint(clock_epoch_s());
}

static void get_now(timeutils_struct_time_t *tm)
{
    timeutils_seconds_since_epoch_to_struct_time(clock_epoch_s(), tm);
}
RELEASES_LOCALTIME(get_now)
