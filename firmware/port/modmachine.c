// SPDX-License-Identifier: MIT
/** The port's part of module `machine`; included by MicroPython's extmod/modmachine.c. */
#include "board.h"
#include "clock.h"
#include "firmware.h"
#include "irq.h"
#include "py/mphal.h"
#include "startup.h"

extern const mp_obj_type_t machine_flash_type;
extern const mp_obj_type_t machine_ramdisk_type;
extern const mp_obj_type_t machine_rtc_type;

#define MICROPY_PY_MACHINE_EXTRA_GLOBALS                                   \
    {MP_ROM_QSTR(MP_QSTR_Flash), MP_ROM_PTR(&machine_flash_type)},         \
        {MP_ROM_QSTR(MP_QSTR_RAMDisk), MP_ROM_PTR(&machine_ramdisk_type)}, \
        {MP_ROM_QSTR(MP_QSTR_RTC), MP_ROM_PTR(&machine_rtc_type)},         \
        {MP_ROM_QSTR(MP_QSTR_stacks), MP_ROM_PTR(&machine_stacks_obj)},    \
        {MP_ROM_QSTR(MP_QSTR_Timer), MP_ROM_PTR(&machine_timer_type)},     \
        {MP_ROM_QSTR(MP_QSTR_PWRON_RESET), MP_ROM_INT(RESET_POWER_ON)},    \
        {MP_ROM_QSTR(MP_QSTR_HARD_RESET), MP_ROM_INT(RESET_REQUESTED)},    \
        {MP_ROM_QSTR(MP_QSTR_DEEPSLEEP_RESET), MP_ROM_INT(RESET_SLEEP)},   \
        {MP_ROM_QSTR(MP_QSTR_FAULT_RESET), MP_ROM_INT(RESET_FAULT)},

static mp_obj_t describe_stack(struct stack_mark stack)
{
    mp_obj_t items[] = {mp_obj_new_int_from_uint(stack.used), mp_obj_new_int_from_uint(stack.size)};
    return mp_obj_new_tuple(MP_ARRAY_SIZE(items), items);
}

/** stacks(): (most bytes used since the start, size) of the main stack, and of the interrupts'. */
static mp_obj_t machine_stacks(void)
{
    mp_obj_t stacks[] = {describe_stack(startup_main_stack()),
                         describe_stack(startup_handler_stack())};
    return mp_obj_new_tuple(MP_ARRAY_SIZE(stacks), stacks);
}
static MP_DEFINE_CONST_FUN_OBJ_0(machine_stacks_obj, machine_stacks);

/** For at most a millisecond, as documented: programs poll with it. */
static void mp_machine_idle(void)
{
    mp_event_wait_ms(1);
}

_Noreturn static void mp_machine_reset(void)
{
    firmware_stop_devices();
    startup_reset(RESET_REQUESTED);
}

static mp_int_t mp_machine_reset_cause(void)
{
    return startup_reset_cause();
}

static mp_obj_t mp_machine_unique_id(void)
{
    size_t size;
    const uint8_t *id = board_unique_id(&size);
    return mp_obj_new_bytes(id, size);
}

static mp_obj_t mp_machine_get_freq(void)
{
    return MP_OBJ_NEW_SMALL_INT(BOARD_CLOCK_HZ);
}

static void mp_machine_set_freq(size_t n_args, const mp_obj_t *args)
{
    mp_raise_NotImplementedError(MP_ERROR_TEXT("this board's clock is fixed"));
}

/** lightsleep([ms]): sleep for this time or, without an argument, until input arrives. */
static void mp_machine_lightsleep(size_t n_args, const mp_obj_t *args)
{
    if (n_args != 0) {
        mp_int_t ms = mp_obj_get_int(args[0]);
        mp_hal_delay_ms(ms > 0 ? (mp_uint_t)ms : 0);
        return;
    }
    while (console_waiting() == 0) {
        mp_event_wait_indefinite();
    }
}

_Noreturn static void mp_machine_deepsleep(size_t n_args, const mp_obj_t *args)
{
    mp_machine_lightsleep(n_args, args); // Ctrl-C leaves all as it was
    firmware_stop_devices();
    startup_reset(RESET_SLEEP);
}
