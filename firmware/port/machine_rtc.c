// SPDX-License-Identifier: MIT
/** machine.RTC: the wall clock behind time.time(), with datetime() to read and set it. */
#include "clock.h"
#include "lib/oofatfs/ff.h"
#include "py/obj.h"
#include "py/runtime.h"
#include "shared/timeutils/timeutils.h"

#define US_PER_S 1000000u

extern const mp_obj_type_t machine_rtc_type;

static const mp_obj_base_t rtc = {&machine_rtc_type};

static mp_obj_t rtc_make_new(const mp_obj_type_t *type, size_t n_args, size_t n_kw,
                             const mp_obj_t *args)
{
    mp_arg_check_num(n_args, n_kw, 0, 0, false);
    return MP_OBJ_FROM_PTR(&rtc);
}

static mp_obj_t rtc_get(void)
{
    uint64_t us = clock_epoch_ns() / 1000u;
    timeutils_struct_time_t tm;
    timeutils_seconds_since_epoch_to_struct_time((uint32_t)(us / US_PER_S), &tm);
    mp_obj_t fields[] = {
        mp_obj_new_int(tm.tm_year), mp_obj_new_int(tm.tm_mon),
        mp_obj_new_int(tm.tm_mday), mp_obj_new_int(tm.tm_wday),
        mp_obj_new_int(tm.tm_hour), mp_obj_new_int(tm.tm_min),
        mp_obj_new_int(tm.tm_sec),  mp_obj_new_int_from_uint((mp_uint_t)(us % US_PER_S)),
    };
    return mp_obj_new_tuple(MP_ARRAY_SIZE(fields), fields);
}

/** Of FatFs: the time for a file, in steps of two seconds. */
DWORD get_fattime(void)
{
    timeutils_struct_time_t tm;
    timeutils_seconds_since_epoch_to_struct_time(clock_epoch_s(), &tm);
    if (tm.tm_year < 1980) {
        return 1u << 21 | 1u << 16; // 1980-01-01, the first day that FAT has: the clock is not set
    }
    return (DWORD)(tm.tm_year - 1980) << 25 | (DWORD)tm.tm_mon << 21 | (DWORD)tm.tm_mday << 16 |
           (DWORD)tm.tm_hour << 11 | (DWORD)tm.tm_min << 5 | (DWORD)tm.tm_sec / 2;
}

/** datetime([(year, month, day, weekday, hours, minutes, seconds, subseconds)]) */
static mp_obj_t rtc_datetime(size_t n_args, const mp_obj_t *args)
{
    if (n_args == 1) {
        return rtc_get();
    }
    mp_obj_t *fields;
    mp_obj_get_array_fixed_n(args[1], 8, &fields);
    clock_set_epoch(timeutils_seconds_since_epoch(
        (mp_uint_t)mp_obj_get_int(fields[0]), (mp_uint_t)mp_obj_get_int(fields[1]),
        (mp_uint_t)mp_obj_get_int(fields[2]), (mp_uint_t)mp_obj_get_int(fields[4]),
        (mp_uint_t)mp_obj_get_int(fields[5]), (mp_uint_t)mp_obj_get_int(fields[6])));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(rtc_datetime_obj, 1, 2, rtc_datetime);

static const mp_rom_map_elem_t rtc_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_datetime), MP_ROM_PTR(&rtc_datetime_obj)},
};
static MP_DEFINE_CONST_DICT(rtc_locals, rtc_locals_table);

MP_DEFINE_CONST_OBJ_TYPE(machine_rtc_type, MP_QSTR_RTC, MP_TYPE_FLAG_NONE, make_new, rtc_make_new,
                         locals_dict, &rtc_locals);
