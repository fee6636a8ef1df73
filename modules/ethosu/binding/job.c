// SPDX-License-Identifier: MIT
/** What handles and models share about an inference under way: its time, polling, Python parts. */
#include "model_object.h"

#include "ethosu_board.h"
#include "py/builtin.h"
#include "py/mperrno.h"
#include "py/runtime.h"
#include "py/stream.h"

void binding_check_idle(struct ethosu_driver *npu)
{
    const struct binding_work *work = binding_work(npu);
    if (work->awaited || work->model != NULL) {
        binding_raise_os_error(MP_EBUSY, "the NPU is at work: wait, or cancel() it");
    }
}

int binding_stop(struct ethosu_driver *npu)
{
    const struct binding_work *work = binding_work(npu);
    if (work->model != NULL && !work->awaited) {
        model_stop(work->model);
    }
    bool wake = work->awaited && npu->job.state != ETHOSU_JOB_IDLE;
    int error = ethosu_ext_cancel(npu);
    if (wake) {
        ethosu_semaphore_give(npu->semaphore);
    }
    return error;
}

bool binding_running(const struct ethosu_driver *npu)
{
    uint32_t state = npu->job.state;
    return state == ETHOSU_JOB_RUNNING || state == ETHOSU_JOB_STARTING;
}

uint64_t binding_time_left(const struct deadline *deadline)
{
    uint32_t elapsed = ethosu_board_ticks_ms() - deadline->begun;
    if (deadline->timeout == ETHOSU_SEMAPHORE_WAIT_FOREVER) {
        return deadline->timeout;
    }
    return elapsed < deadline->timeout ? deadline->timeout - elapsed : 1;
}

static bool time_is_up(const struct deadline *deadline)
{
    return ethosu_board_ticks_ms() - deadline->begun >= deadline->timeout;
}

mp_uint_t binding_poll(const struct ethosu_driver *npu, const struct deadline *deadline,
                       mp_uint_t request, uintptr_t flags, int *error)
{
    if (request != MP_STREAM_POLL) {
        *error = MP_EINVAL;
        return MP_STREAM_ERROR;
    }
    bool ready = npu == NULL || !binding_running(npu) || time_is_up(deadline);
    return ready ? flags & MP_STREAM_POLL_RD : 0;
}

mp_obj_t binding_call_python(qstr name, size_t positional, const mp_obj_t *arguments,
                             mp_map_t *keywords)
{
    mp_obj_t module = mp_import_name(MP_QSTR__ethosu, mp_const_none, MP_OBJ_NEW_SMALL_INT(0));
    mp_obj_t function = mp_load_attr(module, name);
    size_t given = keywords->used;
    mp_obj_t *all = alloca((positional + 2 * given) * sizeof *all);
    size_t next = 0;
    for (; next < positional; ++next) {
        all[next] = arguments[next];
    }
    for (size_t i = 0; i < keywords->alloc; ++i) {
        if (mp_map_slot_is_filled(keywords, i)) {
            all[next++] = keywords->table[i].key;
            all[next++] = keywords->table[i].value;
        }
    }
    return mp_call_function_n_kw(function, positional, given, all);
}
