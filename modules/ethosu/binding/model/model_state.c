// SPDX-License-Identifier: MIT
/** Whether an `ethosu.Model` is open, and idle; see model_object.h. */
#include "binding/model/model_object.h"

#include "binding/call/raise.h"
#include "binding/npu/job.h"
#include "py/mperrno.h"
#include "py/runtime.h"

model_obj_t *model_open(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    if (self->model == NULL) {
        mp_raise_ValueError(
            self->block[MODEL_FILE] == NULL
                ? MP_ERROR_TEXT("this model was closed by deinit()")
                : MP_ERROR_TEXT("the ROM file system was written: load this model again"));
    }
    return self;
}

MP_NOINLINE void model_finish_abandoned(const model_obj_t *self)
{
    if (model_is_busy(self) && !job_reap_abandoned(self->npu)) {
        binding_raise_os_error(MP_EBUSY, "this model is running: wait for it, or cancel() it");
    }
}

/** A model that is closed or running, or that shares its arena. Raises. */
static MP_NOINLINE model_obj_t *make_idle(model_obj_t *self)
{
    (void)model_open(MP_OBJ_FROM_PTR(self));
    model_finish_abandoned(self);
    if (self->shares) {
        model_check_arena(self, self->arena, model_arena_size(self));
    }
    return self;
}

model_obj_t *model_idle(mp_obj_t self_in)
{
    model_obj_t *self = MP_OBJ_TO_PTR(self_in);
    bool idle = self->model != NULL && !self->shares && !model_is_busy(self);
    return idle ? self : make_idle(self);
}
