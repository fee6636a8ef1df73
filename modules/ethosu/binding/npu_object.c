// SPDX-License-Identifier: MIT
/** Python class `ethosu.NPU`: a reserved NPU, driven payload by payload. */
#include "binding.h"

#include <string.h>

#include "py/mperrno.h"
#include "py/runtime.h"

typedef struct {
    mp_obj_base_t base;
    struct ethosu_driver *npu; /**< NULL: released */
    struct ethosux_program program;
    // What the running inference uses: the collector finds it here.
    mp_obj_t payload;
    mp_obj_t buffers[ETHOSUX_MAX_BASES];
} npu_obj_t;

/** reserve(*, timeout_ms=0, npu=None): an NPU for this caller alone. */
static mp_obj_t binding_reserve(size_t count, const mp_obj_t *positional, mp_map_t *keywords)
{
    enum { ARG_TIMEOUT, ARG_NPU };
    static const mp_arg_t allowed[] = {
        {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = 0}},
        {MP_QSTR_npu, MP_ARG_KW_ONLY | MP_ARG_OBJ, {.u_rom_obj = MP_ROM_NONE}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    mp_arg_parse_all(count, positional, keywords, MP_ARRAY_SIZE(allowed), allowed, args);
    uint64_t timeout = binding_timeout(args[ARG_TIMEOUT].u_int);
    struct ethosu_driver *npu = binding_choose_npu(args[ARG_NPU].u_obj);

    // The object first: nothing may go wrong once the NPU is reserved.
    npu_obj_t *self = mp_obj_malloc_with_finaliser(npu_obj_t, &binding_npu_type);
    self->npu = NULL;
    binding_reserve_npu(npu, timeout);
    memset(&self->program, 0, sizeof(*self) - offsetof(npu_obj_t, program));
    self->npu = npu;
    return MP_OBJ_FROM_PTR(self);
}
MP_DEFINE_CONST_FUN_OBJ_KW(binding_reserve_obj, 0, binding_reserve);

/** The handle's NPU; raises when it was released. */
static npu_obj_t *reserved(mp_obj_t self_in)
{
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->npu == NULL) {
        binding_raise_os_error(MP_EPERM, "this NPU was released: ethosu.reserve() gives another");
    }
    return self;
}

static void drop_buffers(npu_obj_t *self)
{
    self->payload = MP_OBJ_NULL;
    memset(self->buffers, 0, sizeof self->buffers);
    if (self->npu != NULL) {
        binding_keep(self->npu, MP_OBJ_NULL);
    }
}

/** Fill in the base pointers; returns how many. Raises. */
static int take_bases(npu_obj_t *self, mp_obj_t bases, uint64_t *address, size_t *size)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(bases, &count, &items);
    if (count > ETHOSUX_MAX_BASES) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d bases given, at most %d expected"),
                          (int)count, ETHOSUX_MAX_BASES);
    }
    for (size_t i = 0; i < count; ++i) {
        address[i] = 0;
        size[i] = 0;
        if (items[i] != mp_const_none) {
            mp_buffer_info_t buffer;
            binding_get_buffer(items[i], &buffer, MP_BUFFER_READ, "base");
            address[i] = (uintptr_t)buffer.buf;
            size[i] = buffer.len;
        }
        self->buffers[i] = items[i];
    }
    return (int)count;
}

/** Check payload and bases and start; raises. */
static void start(npu_obj_t *self, mp_obj_t payload, mp_obj_t bases)
{
    if (ethosux_wait(self->npu, 0) == 1) {
        binding_raise_os_error(MP_EBUSY, "an inference is under way: wait() for it first");
    }
    mp_buffer_info_t stream;
    uint64_t address[ETHOSUX_MAX_BASES];
    size_t size[ETHOSUX_MAX_BASES];
    binding_get_buffer(payload, &stream, MP_BUFFER_READ, "payload");
    int count = take_bases(self, bases, address, size);
    self->payload = payload;
    int error =
        ethosux_prepare(self->npu, &self->program, stream.buf, stream.len, address, size, count, 0);
    if (error == 0) {
        // Before the start: from then on the collector must not take this object.
        binding_keep(self->npu, MP_OBJ_FROM_PTR(self));
        error = ethosux_start(self->npu, &self->program, NULL);
    }
    if (error != 0) {
        drop_buffers(self);
        binding_raise_fault(ethosux_last_error(self->npu));
    }
}

static void finish(npu_obj_t *self, uint64_t timeout)
{
    struct ethosu_driver *npu = self->npu;
    int result = ethosux_wait(npu, timeout);
    struct ethosux_fault fault = *ethosux_last_error(npu);
    if (result != 1) {
        drop_buffers(self);
    }
    binding_raise_pending();
    if (result < 0) {
        binding_raise_fault(&fault);
    }
}

/** invoke(payload, bases, *, timeout_ms=10000): run a payload and wait for it. */
static mp_obj_t npu_invoke(size_t count, const mp_obj_t *positional, mp_map_t *keywords)
{
    enum { ARG_PAYLOAD, ARG_BASES, ARG_TIMEOUT };
    static const mp_arg_t allowed[] = {
        {MP_QSTR_payload, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_bases, MP_ARG_REQUIRED | MP_ARG_OBJ, {.u_obj = MP_OBJ_NULL}},
        {MP_QSTR_timeout_ms, MP_ARG_KW_ONLY | MP_ARG_INT, {.u_int = BINDING_TIMEOUT_MS}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    npu_obj_t *self = reserved(positional[0]);
    mp_arg_parse_all(count - 1, positional + 1, keywords, MP_ARRAY_SIZE(allowed), allowed, args);
    uint64_t timeout = binding_timeout(args[ARG_TIMEOUT].u_int);
    start(self, args[ARG_PAYLOAD].u_obj, args[ARG_BASES].u_obj);
    finish(self, timeout);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_KW(npu_invoke_obj, 3, npu_invoke);

/** invoke_async(payload, bases): start a payload; wait() ends it. */
static mp_obj_t npu_invoke_async(mp_obj_t self_in, mp_obj_t payload, mp_obj_t bases)
{
    start(reserved(self_in), payload, bases);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(npu_invoke_async_obj, npu_invoke_async);

/** wait(*, timeout_ms=10000): end what invoke_async() began; in time or never. */
static mp_obj_t npu_wait(size_t count, const mp_obj_t *positional, mp_map_t *keywords)
{
    static const mp_arg_t allowed[] = {
        {MP_QSTR_timeout_ms, MP_ARG_INT, {.u_int = BINDING_TIMEOUT_MS}},
    };
    mp_arg_val_t args[MP_ARRAY_SIZE(allowed)];
    npu_obj_t *self = reserved(positional[0]);
    mp_arg_parse_all(count - 1, positional + 1, keywords, MP_ARRAY_SIZE(allowed), allowed, args);
    finish(self, binding_timeout(args[0].u_int));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_KW(npu_wait_obj, 1, npu_wait);

/** release(): give the NPU back; an inference under way is stopped. Twice does no harm. */
static mp_obj_t npu_release(mp_obj_t self_in)
{
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->npu != NULL) {
        struct ethosu_driver *npu = self->npu;
        ethosu_release_driver(npu);
        drop_buffers(self);
        self->npu = NULL;
        binding_raise_pending();
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_release_obj, npu_release);

static mp_obj_t npu_exit(size_t count, const mp_obj_t *arguments)
{
    (void)count;
    return npu_release(arguments[0]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(npu_exit_obj, 4, 4, npu_exit);

static void store_text(mp_obj_t dict, qstr key, const char *text)
{
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(key), mp_obj_new_str(text, strlen(text)));
}

/** info(): config, architecture and driver version, counters. */
static mp_obj_t npu_info(mp_obj_t self_in)
{
    npu_obj_t *self = reserved(self_in);
    struct ethosu_hw_info hw;
    struct ethosu_driver_version version;
    char name[ETHOSUX_CONFIG_NAME_SIZE];
    ethosu_get_hw_info(self->npu, &hw);
    ethosu_get_driver_version(&version);
    ethosux_config_name(self->npu->dev.config, name);
    mp_obj_t arch[] = {
        MP_OBJ_NEW_SMALL_INT(hw.version.arch_major_rev),
        MP_OBJ_NEW_SMALL_INT(hw.version.arch_minor_rev),
        MP_OBJ_NEW_SMALL_INT(hw.version.arch_patch_rev),
    };
    mp_obj_t driver[] = {
        MP_OBJ_NEW_SMALL_INT(version.major),
        MP_OBJ_NEW_SMALL_INT(version.minor),
        MP_OBJ_NEW_SMALL_INT(version.patch),
    };
    mp_obj_t dict = mp_obj_new_dict(6);
    store_text(dict, MP_QSTR_config, name);
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_macs),
                      MP_OBJ_NEW_SMALL_INT(1 << hw.cfg.macs_per_cc));
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_arch), mp_obj_new_tuple(3, arch));
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_driver), mp_obj_new_tuple(3, driver));
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_timeouts),
                      mp_obj_new_int_from_uint(self->npu->timeouts));
    mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(MP_QSTR_resets),
                      mp_obj_new_int_from_uint(self->npu->resets));
    return dict;
}
static MP_DEFINE_CONST_FUN_OBJ_1(npu_info_obj, npu_info);

static void npu_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    npu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    char name[ETHOSUX_CONFIG_NAME_SIZE] = "released";
    if (self->npu != NULL) {
        ethosux_config_name(self->npu->dev.config, name);
    }
    mp_printf(print, "<NPU %s>", name);
}

static const mp_rom_map_elem_t npu_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR_invoke), MP_ROM_PTR(&npu_invoke_obj)},
    {MP_ROM_QSTR(MP_QSTR_invoke_async), MP_ROM_PTR(&npu_invoke_async_obj)},
    {MP_ROM_QSTR(MP_QSTR_wait), MP_ROM_PTR(&npu_wait_obj)},
    {MP_ROM_QSTR(MP_QSTR_release), MP_ROM_PTR(&npu_release_obj)},
    {MP_ROM_QSTR(MP_QSTR_info), MP_ROM_PTR(&npu_info_obj)},
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&mp_identity_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&npu_exit_obj)},
    {MP_ROM_QSTR(MP_QSTR___del__), MP_ROM_PTR(&npu_release_obj)},
};
static MP_DEFINE_CONST_DICT(npu_locals, npu_locals_table);

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_npu_type, MP_QSTR_NPU, MP_TYPE_FLAG_NONE,
    print, npu_print,
    locals_dict, &npu_locals
);
// clang-format on
