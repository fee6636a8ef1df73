// SPDX-License-Identifier: MIT
/** Python class `ethosu.PMU`: the NPU's counters, inside a `with` block; see npu_object.h. */
#include "binding/npu/npu_object.h"

#include "pmu_ethosu.h"
#include "py/runtime.h"

typedef struct pmu {
    mp_obj_base_t base;
    npu_obj_t *handle;
    uint8_t count; /**< event counters in use */
    uint16_t events[ETHOSU_PMU_NCOUNTERS];
    uint64_t cycles; /**< when counting ended */
    uint32_t values[ETHOSU_PMU_NCOUNTERS];
} pmu_obj_t;

/** The NPU while it counts, NULL when it does not. */
static struct ethosu_driver *counting(const pmu_obj_t *self)
{
    return self->handle->pmu == self ? self->handle->npu : NULL;
}

/** pmu(*events): counters of these events, for use with `with`. */
static mp_obj_t npu_pmu(size_t n_args, const mp_obj_t *args)
{
    npu_obj_t *handle = npu_reserved(args[0]);
    uint32_t most = ETHOSU_PMU_Get_NumEventCountersForDrv(handle->npu);
    if (n_args - 1 > most) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d events given, the NPU counts %d"),
                          (int)n_args - 1, (int)most);
    }
    pmu_obj_t *self = mp_obj_malloc(pmu_obj_t, &binding_pmu_type);
    self->handle = handle;
    self->cycles = 0;
    self->count = (uint8_t)(n_args - 1);
    for (uint32_t i = 0; i < self->count; i++) {
        mp_int_t event = mp_obj_get_int(args[i + 1]);
        if (!ethosu_ext_pmu_has_event(handle->npu, (uint32_t)event)) {
            mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("this NPU has no PMU event 0x%x"),
                              (unsigned)event);
        }
        self->events[i] = (uint16_t)event;
        self->values[i] = 0;
    }
    return MP_OBJ_FROM_PTR(self);
}
MP_DEFINE_CONST_FUN_OBJ_VAR(npu_pmu_obj, 1, npu_pmu);

void pmu_stop(npu_obj_t *handle)
{
    pmu_obj_t *self = handle->pmu;
    if (self != NULL) {
        struct ethosu_driver *npu = handle->npu;
        handle->pmu = NULL;
        ETHOSU_PMU_CNTR_Disable(npu, ETHOSU_PMU_CCNT_Msk | ((1u << self->count) - 1));
        self->cycles = ETHOSU_PMU_Get_CCNTR(npu);
        for (uint32_t i = 0; i < self->count; i++) {
            self->values[i] = ETHOSU_PMU_Get_EVCNTR(npu, i);
        }
        ETHOSU_PMU_Disable(npu);
    }
}

/** Start counting; stops the PMU object that was active on this NPU. */
static mp_obj_t pmu_enter(mp_obj_t self_in)
{
    pmu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    struct ethosu_driver *npu = npu_reserved(MP_OBJ_FROM_PTR(self->handle))->npu;
    pmu_stop(self->handle);
    ETHOSU_PMU_Enable(npu);
    self->handle->pmu = self;
    for (uint32_t i = 0; i < self->count; i++) {
        ethosu_ext_pmu_set_event(npu, i, self->events[i]);
    }
    ETHOSU_PMU_CYCCNT_Reset(npu);
    ETHOSU_PMU_EVCNTR_ALL_Reset(npu);
    ETHOSU_PMU_CNTR_Enable(npu, ETHOSU_PMU_CCNT_Msk | ((1u << self->count) - 1));
    return self_in;
}
static MP_DEFINE_CONST_FUN_OBJ_1(pmu_enter_obj, pmu_enter);

static mp_obj_t pmu_exit(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    pmu_obj_t *self = MP_OBJ_TO_PTR(args[0]);
    if (counting(self) != NULL) {
        pmu_stop(self->handle);
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(pmu_exit_obj, 4, 4, pmu_exit);

static uint32_t value_at(const pmu_obj_t *self, uint32_t index)
{
    struct ethosu_driver *npu = counting(self);
    return npu != NULL ? ETHOSU_PMU_Get_EVCNTR(npu, index) : self->values[index];
}

static uint64_t cycles(const pmu_obj_t *self)
{
    struct ethosu_driver *npu = counting(self);
    return npu != NULL ? ETHOSU_PMU_Get_CCNTR(npu) : self->cycles;
}

/** p[0]: count of the first event */
static mp_obj_t pmu_subscript(mp_obj_t self_in, mp_obj_t index, mp_obj_t value)
{
    pmu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (value != MP_OBJ_SENTINEL) {
        return MP_OBJ_NULL; // can only be read
    }
    size_t at = mp_get_index(self->base.type, self->count, index, false);
    return mp_obj_new_int_from_uint(value_at(self, (uint32_t)at));
}

static mp_obj_t pmu_unary(mp_unary_op_t operation, mp_obj_t self_in)
{
    pmu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    return operation == MP_UNARY_OP_LEN ? MP_OBJ_NEW_SMALL_INT(self->count) : MP_OBJ_NULL;
}

/** for count in p; also: a, b = p */
static mp_obj_t pmu_iterate(mp_obj_t self_in, mp_obj_iter_buf_t *space)
{
    pmu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    mp_obj_t values[ETHOSU_PMU_NCOUNTERS];
    for (uint32_t i = 0; i < self->count; i++) {
        values[i] = mp_obj_new_int_from_uint(value_at(self, i));
    }
    return mp_getiter(mp_obj_new_tuple(self->count, values), space);
}

static void pmu_attribute(mp_obj_t self_in, qstr name, mp_obj_t *destination)
{
    if (destination[0] != MP_OBJ_NULL) {
        return; // read-only
    }
    if (name == MP_QSTR_cycles) {
        destination[0] = mp_obj_new_int_from_ull(cycles(MP_OBJ_TO_PTR(self_in)));
    } else {
        destination[1] = MP_OBJ_SENTINEL;
    }
}

static void pmu_print(const mp_print_t *print, mp_obj_t self_in, mp_print_kind_t kind)
{
    (void)kind;
    pmu_obj_t *self = MP_OBJ_TO_PTR(self_in);
    mp_printf(print, "<PMU cycles=%u", (unsigned)cycles(self));
    for (uint32_t i = 0; i < self->count; i++) {
        mp_printf(print, ", 0x%x=%u", (unsigned)self->events[i], (unsigned)value_at(self, i));
    }
    mp_printf(print, ">");
}

static const mp_rom_map_elem_t pmu_locals_table[] = {
    {MP_ROM_QSTR(MP_QSTR___enter__), MP_ROM_PTR(&pmu_enter_obj)},
    {MP_ROM_QSTR(MP_QSTR___exit__), MP_ROM_PTR(&pmu_exit_obj)},
};
static MP_DEFINE_CONST_DICT(pmu_locals, pmu_locals_table);

// clang-format off
MP_DEFINE_CONST_OBJ_TYPE(
    binding_pmu_type, MP_QSTR_PMU, MP_TYPE_FLAG_NONE,
    print, pmu_print,
    unary_op, pmu_unary,
    subscr, pmu_subscript,
    iter, pmu_iterate,
    attr, pmu_attribute,
    locals_dict, &pmu_locals
);
// clang-format on
