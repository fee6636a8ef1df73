// SPDX-License-Identifier: MIT
/** Python class `ethosu.NPU`: a reserved NPU that runs payloads; see npu_object.h. */
#include "binding/npu/npu_object.h"

#include <string.h>

#include "binding/call/methods.h"
#include "binding/call/raise.h"
#include "binding/memory/buffers.h"
#include "binding/npu/job.h"
#include "binding/tensor/info.h"
#include "ethosu_board.h"
#include "py/mperrno.h"
#include "py/objstr.h"
#include "py/runtime.h"
#include "py/stream.h"

/**
 * reserve(*, timeout_ms=-1, npu=None, powered=False): reserve an NPU for the
 * caller. `powered` keeps clock and power on until release(), not only during
 * inferences.
 */
static mp_obj_t npu_reserve(size_t n_args, const mp_obj_t *pos_args, mp_map_t *kw_args)
{
    enum { ARG_TIMEOUT, ARG_NPU, ARG_POWERED };
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = -1}},
        {MP_QSTR_npu, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
        {MP_QSTR_powered, MP_ARG_KW_ONLY | MP_ARG_BOOL, {.u_bool = false}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed_args)];
    mp_arg_parse_all(n_args, pos_args, kw_args, MP_ARRAY_SIZE(allowed_args), allowed_args, args);
    uint64_t timeout = binding_timeout(args[ARG_TIMEOUT].u_int);
    struct ethosu_driver *npu = npus_choose(args[ARG_NPU].u_obj);
    if (job_of(npu)->wait != JOB_NO_WAIT) {
        // That code is below this callback on the stack, and returns after the callback.
        binding_raise_os_error(MP_EBUSY, "other code is waiting for this NPU: reserve it "
                                         "after the callback");
    }

    // Allocate the object first, because a failure later would leave the NPU reserved.
    npu_obj_t *self = mp_obj_malloc_with_finaliser(npu_obj_t, &binding_npu_type);
    self->npu = NULL;
    npus_reserve(npu, timeout);
    memset((uint8_t *)self + sizeof self->base, 0, sizeof *self - sizeof self->base);
    self->npu = npu;
    if (args[ARG_POWERED].u_bool) {
        self->powered = ethosu_request_power(npu) == 0;
        if (!self->powered) {
            self->npu = NULL;
            ethosu_release_driver(npu);
            binding_raise_fault(ethosu_ext_last_error(npu));
        }
    }
    return MP_OBJ_FROM_PTR(self);
}
MP_DEFINE_CONST_FUN_OBJ_KW(npu_reserve_obj, 0, npu_reserve);

/** Unpin the blocks of a job that has ended. */
static void drop_blocks(npu_obj_t *self)
{
    pin_remove(&self->pins);
    memset(self->block, 0, sizeof self->block);
    self->busy = false;
}

static void drop_job(npu_obj_t *self)
{
    drop_blocks(self);
    if (self->npu != NULL) {
        job_drop(self->npu);
    }
}

/** Read the sequence of base pointers; returns their number. Raises. */
static int get_bases(npu_obj_t *self, mp_obj_t bases, uint64_t *address, size_t *size)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(bases, &count, &items);
    if (count > ETHOSU_EXT_MAX_BASES) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d bases given, expected at most %d"),
                          (int)count, ETHOSU_EXT_MAX_BASES);
    }
    for (size_t i = 0; i < count; i++) {
        address[i] = 0;
        size[i] = 0;
        if (items[i] != mp_const_none) {
            mp_buffer_info_t buffer;
            size_t room;
            binding_get_buffer(items[i], &buffer, MP_BUFFER_READ, "base");
            self->block[i] = pin_block_of(buffer.buf, buffer.len, "base", &room);
            address[i] =
                buffer.len == 0 ? 0 : (uintptr_t)buffer.buf; // an empty buffer has no address
            size[i] = buffer.len == 0 ? 0 : binding_whole_lines(&buffer, room);
        }
    }
    return (int)count;
}

/** Raise TypeError when the command stream writes to a buffer that is read-only. */
static void check_written(const npu_obj_t *self, mp_obj_t bases)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(bases, &count, &items);
    mp_buffer_info_t buffer;
    for (uint32_t mask = self->program.written; mask != 0; mask &= mask - 1) {
        mp_obj_t base = items[__builtin_ctz(mask)];
        if (base != mp_const_none) {
            binding_get_buffer(base, &buffer, MP_BUFFER_WRITE, "base that the payload writes");
        }
    }
}

/** The bytes of a payload, where they stay as they are while the NPU works. Raises. */
static void get_payload(npu_obj_t *self, mp_obj_t payload, mp_buffer_info_t *stream)
{
    binding_get_memory(payload, stream, MP_BUFFER_READ, "payload");
    self->block[ETHOSU_EXT_MAX_BASES] = pin_block_of(stream->buf, stream->len, "payload", NULL);
    if (!source_may_change(payload, stream) || !binding_npu_reads_heap()) {
        return;
    }
    if (self->copy.size < stream->len) {
        self->copy = binding_allocate(stream->len, "the command stream");
    }
    stream->buf = memcpy(self->copy.data, stream->buf, stream->len);
}

/** Bytes of C stack for checking a payload. */
#define CHECK_STACK 2048

/** Check payload and bases, then start the NPU. Raises. */
static void start(npu_obj_t *self, mp_obj_t payload, mp_obj_t bases, mp_int_t timeout,
                  mp_obj_t callback)
{
    if (callback != mp_const_none && !mp_obj_is_callable(callback)) {
        mp_raise_TypeError(MP_ERROR_TEXT("callback must be callable"));
    }
    self->deadline.timeout = binding_timeout(timeout);
    binding_need_stack(CHECK_STACK);
    job_check_idle(self->npu);
    if (ethosu_ext_wait(self->npu, 0) == 1 && !job_reap_abandoned(self->npu)) {
        binding_raise_os_error(MP_EBUSY, "an inference is running: wait() for it first");
    }
    drop_job(self);
    mp_buffer_info_t stream;
    uint64_t address[ETHOSU_EXT_MAX_BASES];
    size_t size[ETHOSU_EXT_MAX_BASES];
    get_payload(self, payload, &stream);
    int count = get_bases(self, bases, address, size);
    int error = ethosu_ext_prepare(self->npu, &self->program, stream.buf, stream.len, address, size,
                                   count, 0);
    if (error == 0) {
        check_written(self, bases);
        // Before the start, because from then on the collector must not free this object.
        self->deadline.start_ms = ethosu_ext_board_ticks_ms();
        job_pin(self->npu, MP_OBJ_FROM_PTR(self), &self->deadline);
        if (callback != mp_const_none) {
            job_set_callback(self->npu, callback, MP_OBJ_FROM_PTR(self));
        }
        self->cancelled = false;
        self->busy = true;
        pin_add(&self->pins, self->block, MP_ARRAY_SIZE(self->block), NULL);
        error = ethosu_ext_start(self->npu, &self->program, NULL);
    }
    if (error != 0) {
        drop_job(self);
        binding_raise_fault(ethosu_ext_last_error(self->npu));
    }
}

/**
 * End the current inference; raises if it failed.
 *
 * @param timeout  milliseconds; -1: the rest of the time-out set at its start
 * @return         false if it is still running (timeout 0 only)
 */
static bool finish(npu_obj_t *self, mp_int_t timeout)
{
    struct ethosu_driver *npu = self->npu;
    uint64_t span = timeout < 0 ? deadline_left(&self->deadline) : (uint64_t)timeout;
    job_check_idle(npu);
    bool was_running = ethosu_ext_is_running(npu);
    job_wait(npu);
    int result = ethosu_ext_wait(npu, span);
    job_end_wait(npu);
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(npu);
    bool cancelled = was_running || self->cancelled || self->busy;
    self->cancelled = false;
    if (result < 0) {
        drop_job(self);
    } else if (result == 0) {
        drop_blocks(self);
    }
    binding_raise_pending();
    if (result < 0) {
        if (fault.code == ETHOSU_EXT_E_CANCELLED ||
            (cancelled && fault.code == ETHOSU_EXT_E_NOT_STARTED)) {
            binding_raise_cancelled();
        }
        if (timeout < 0 && ethosu_ext_errno(fault.code) == ETHOSU_EXT_ETIMEDOUT) {
            fault.found = self->deadline.timeout;
        }
        binding_raise_fault(&fault);
    }
    return result == 0;
}

/** The arguments of invoke() and invoke_async(). */
static const mp_arg_t invoke_arguments[] = {
    {MP_QSTR_payload, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
    {MP_QSTR_bases, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
    {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = BINDING_TIMEOUT_MS}},
    {MP_QSTR_callback, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
};

static npu_obj_t *parse_and_start(size_t n_args, const mp_obj_t *pos_args, mp_map_t *kw_args,
                                  size_t allowed)
{
    mp_arg_val_t args[MP_ARRAY_SIZE(invoke_arguments)];
    args[3].u_obj = mp_const_none;
    mp_arg_parse_all(n_args - 1, pos_args + 1, kw_args, allowed, invoke_arguments, args);
    mp_obj_t bases = binding_sequence(args[1].u_obj);
    npu_obj_t *self = npu_reserved(pos_args[0]);
    start(self, args[0].u_obj, bases, args[2].u_int, args[3].u_obj);
    return self;
}

/** invoke(payload, bases, *, timeout_ms=10000): run a payload and wait for it. */
static mp_obj_t npu_invoke(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    finish(parse_and_start(n_args, args, kw_args, 3), -1);
    return mp_const_none;
}
static BINDING_METHOD(npu_invoke_obj, npu_invoke, "invoke(payload, bases, *, timeout_ms=10000)");

/** invoke_async(payload, bases, *, timeout_ms=10000, callback=None): start; call wait() to end. */
static mp_obj_t npu_invoke_async(size_t n_args, const mp_obj_t *args, mp_map_t *kw_args)
{
    parse_and_start(n_args, args, kw_args, 4);
    return mp_const_none;
}
static BINDING_METHOD(npu_invoke_async_obj, npu_invoke_async,
                      "invoke_async(payload, bases, *, timeout_ms=10000, callback=None)");

/**
 * wait(timeout_ms=-1): wait for the inference started by invoke_async(); True when it has ended.
 * It is stopped on time-out. -1: the rest of its time-out; 0: check without waiting.
 */
static mp_obj_t npu_wait(size_t n_args, const mp_obj_t *pos_args, mp_map_t *kw_args)
{
    static const mp_arg_t allowed_args[] = {
        {MP_QSTR_timeout_ms, MP_ARG_INT, {.u_int = -1}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed_args)];
    npu_obj_t *self = npu_reserved(pos_args[0]);
    mp_arg_parse_all(n_args - 1, pos_args + 1, kw_args, MP_ARRAY_SIZE(allowed_args), allowed_args,
                     args);
    (void)binding_timeout(args[0].u_int);
    return mp_obj_new_bool(finish(self, args[0].u_int));
}
static BINDING_METHOD(npu_wait_obj, npu_wait, "wait(timeout_ms=-1)");

/** done(): True if wait() would not block, because the inference has ended or timed out. */
static mp_obj_t npu_done(mp_obj_t self_in)
{
    const npu_obj_t *self = npu_reserved(self_in);
    return mp_obj_new_bool(!ethosu_ext_is_running(self->npu) || deadline_is_over(&self->deadline));
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_done_obj, npu_done);

/** cancel(): stop the current inference, if any; the NPU stays reserved. */
static mp_obj_t npu_cancel(mp_obj_t self_in)
{
    npu_obj_t *self = npu_reserved(self_in);
    self->cancelled |= self->busy;
    int error = job_stop(self->npu);
    drop_job(self);
    if (error != 0) {
        binding_raise_fault(ethosu_ext_last_error(self->npu));
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_cancel_obj, npu_cancel);

/** await run(payload, bases, *, timeout_ms=10000): tasks get the NPU in the order of asking. */
BINDING_FROZEN_METHOD(npu_run_obj, MP_QSTR_run_payload,
                      "run(payload, bases, timeout_ms=10000): to be awaited");

static mp_uint_t npu_ioctl(mp_obj_t self_in, mp_uint_t request, uintptr_t flags, int *error)
{
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    return deadline_poll(&self->deadline, self->npu, request, flags, error);
}

static const mp_stream_p_t npu_stream = {.ioctl = npu_ioctl};

/** release(): stop the current inference and free the NPU. A second call does nothing. */
static mp_obj_t npu_release(mp_obj_t self_in)
{
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->npu != NULL) {
        struct ethosu_driver *npu = self->npu;
#if ETHOSU_PMU
        pmu_stop(self);
#endif
        (void)job_stop(npu);
        if (self->powered) {
            ethosu_release_power(npu);
        }
        ethosu_release_driver(npu);
        drop_job(self);
        self->npu = NULL;
        binding_raise_pending();
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_release_obj, npu_release);

static mp_obj_t npu_exit(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    return npu_release(args[0]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(npu_exit_obj, 4, 4, npu_exit);

/** info(): config, MACs, versions, number of time-outs and resets. */
static mp_obj_t npu_info(mp_obj_t self_in)
{
    return info_npu(npu_reserved(self_in)->npu);
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_info_obj, npu_info);

static void npu_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE] = "released";
    if (self->npu != NULL) {
        ethosu_ext_config_name(ethosu_ext_config(self->npu), name);
    }
    mp_printf(print, "<NPU %s>", name);
}

/** npu: position in npus(); run() has a queue for each. */
static void npu_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    if (destination[0] != MP_OBJ_NULL) {
        return; // read-only
    }
    if (name == MP_QSTR_npu) {
        destination[0] = MP_OBJ_NEW_SMALL_INT(npus_index(npu_reserved(self_in)->npu));
    } else {
        destination[1] = MP_OBJ_SENTINEL;
    }
}

BINDING_DOC(npu_doc, "A reserved NPU: with ethosu.reserve() as n; ethosu.pyi has every method")

static const mp_rom_map_elem_t npu_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_invoke), MP_ROM_PTR(&npu_invoke_obj)},
    {MP_ROM_QSTR(MP_QSTR_invoke_async), MP_ROM_PTR(&npu_invoke_async_obj)},
    {MP_ROM_QSTR(MP_QSTR_wait), MP_ROM_PTR(&npu_wait_obj)},
    {MP_ROM_QSTR(MP_QSTR_done), MP_ROM_PTR(&npu_done_obj)},
    {MP_ROM_QSTR(MP_QSTR_cancel), MP_ROM_PTR(&npu_cancel_obj)},
    {MP_ROM_QSTR(MP_QSTR_run), MP_ROM_PTR(&npu_run_obj)},
#if ETHOSU_PMU
    {MP_ROM_QSTR(MP_QSTR_pmu), MP_ROM_PTR(&npu_pmu_obj)},
#endif
    {MP_ROM_QSTR(MP_QSTR_release), MP_ROM_PTR(&npu_release_obj)},
    {MP_ROM_QSTR(MP_QSTR_info), MP_ROM_PTR(&npu_info_obj)},
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&mp_identity_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&npu_exit_obj)},
    {MP_ROM_QSTR(MP_QSTR___del__), MP_ROM_PTR(&npu_release_obj)},
    BINDING_DOC_ENTRY(npu_doc)};
static MP_DEFINE_CONST_DICT(npu_locals, npu_locals_table);

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_npu_type, MP_QSTR_NPU, MP_TYPE_FLAG_NONE,
    print, npu_print,
    protocol, &npu_stream,
    attr, npu_attribute,
    locals_dict, &npu_locals
);
// clang-format on
