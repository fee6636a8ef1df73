// SPDX-License-Identifier: MIT
/**
 * emulator.model_costs(file): guest instructions of the model runtime and the
 * driver, called from C as a program without Python would.
 */
#include "modemulator.h"

#include "emulator.h"
#include "emulator_registers.h"
#include "ethosu_memory.h"
#include "ethosu_model.h"
#include "driver/base/ethosu_build.h"
#include "ethosu_ext.h"
#include "py/runtime.h"

/** Number of inferences; the minimum is reported, as an interrupt may fall into others. */
#define REPEATS 20u

/** Measurements, in order; the first is the cost of measuring. */
enum cost { COST_NOTHING, COST_MEASURE, COST_LOAD_UNVERIFIED, COST_LOAD, COST_INVOKE, COST_COUNT };

static const uint16_t cost_names[COST_COUNT] = {
    [COST_MEASURE] = MP_QSTR_measure,
    [COST_LOAD_UNVERIFIED] = MP_QSTR_load_unverified,
    [COST_LOAD] = MP_QSTR_load,
    [COST_INVOKE] = MP_QSTR_invoke,
};

struct run {
    struct ethosu_model_source source;
    struct ethosu_model_memory memory;
    struct ethosu_model_error error;
    struct ethosu_model *model;
};

static int do_one(struct run *run, enum cost what)
{
    switch (what) {
    case COST_NOTHING:
        return ETHOSU_MODEL_OK;
    case COST_MEASURE:
        return ethosu_model_measure(&run->source, &run->memory, &run->error);
    case COST_INVOKE:
        return ethosu_model_invoke(run->model, run->source.driver);
    default:
        run->source.skip_verify = what == COST_LOAD_UNVERIFIED || !ETHOSU_VERIFY;
        return ethosu_model_load(&run->source, &run->memory, &run->model, &run->error);
    }
}

static void allocate(struct run *run)
{
    size_t line = ethosu_ext_memory_line();
    run->memory.object = m_new(uint8_t, run->memory.object_size);
    uintptr_t arena = (uintptr_t)m_new(uint8_t, run->memory.arena_size + 2 * line);
    run->memory.arena = (void *)((arena + line - 1) / line * line);
}

/** Instructions of the cheapest of several times; negative when it failed. */
static int64_t count(struct run *run, enum cost what)
{
    int64_t least = INT64_MAX;
    struct ethosu_model_memory memory = run->memory;
    for (unsigned i = 0; i < REPEATS; i++) {
        uint64_t before = emulator_counter(EMULATOR_INSN_LO);
        int status = do_one(run, what);
        int64_t cost = (int64_t)(emulator_counter(EMULATOR_INSN_LO) - before);
        if (status != ETHOSU_MODEL_OK) {
            return -1;
        }
        least = cost < least ? cost : least;
        if (what != COST_MEASURE) {
            run->memory = memory;
        }
    }
    return least;
}

/** The NPU that can run the model, else the last one; NULL if there is none. */
static struct ethosu_driver *find_npu(struct run *run)
{
    struct ethosu_driver *last = NULL, *npu = ethosu_ext_next(NULL);
    for (; npu != NULL; npu = ethosu_ext_next(npu)) {
        last = run->source.driver = npu;
        if (count(run, COST_MEASURE) >= 0) {
            break;
        }
    }
    return last;
}

static mp_obj_t emulator_model_costs(mp_obj_t file)
{
    mp_buffer_info_t buffer;
    mp_get_buffer_raise(file, &buffer, MP_BUFFER_READ);
    struct run run = {.source = {.file = buffer.buf, .file_size = buffer.len}};
    struct ethosu_driver *npu = find_npu(&run);
    if (npu == NULL || ethosu_ext_reserve_this(npu, 0) != 0) {
        mp_raise_msg(&mp_type_OSError, MP_ERROR_TEXT("no NPU is free"));
    }
    int64_t costs[COST_COUNT] = {0};
    bool good = true;
    for (unsigned what = 0; what < COST_COUNT && good; what++) {
        costs[what] = count(&run, (enum cost)what);
        good = costs[what] >= 0;
        if (what == COST_MEASURE && good) {
            allocate(&run);
        }
    }
    ethosu_release_driver(npu);
    if (!good) {
        mp_raise_msg(&mp_type_ValueError, MP_ERROR_TEXT("the model can't be run"));
    }
    mp_obj_t dict = mp_obj_new_dict(COST_COUNT);
    for (unsigned what = COST_MEASURE; what < COST_COUNT; what++) {
        mp_obj_dict_store(dict, MP_OBJ_NEW_QSTR(cost_names[what]),
                          mp_obj_new_int_from_ll(costs[what] - costs[COST_NOTHING]));
    }
    return dict;
}
MP_DEFINE_CONST_FUN_OBJ_1(bench_model_costs_obj, emulator_model_costs);
