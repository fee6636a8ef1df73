// SPDX-License-Identifier: MIT
/** Jobs of the native module: begin, continue, end, stop; see native_job.h. */
#include "native_job.h"

#include "runtime/file/failure.h"
#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/dynruntime.h"

/** Positions in a payload's ticket. */
enum { TICKET_PAYLOAD = 2, TICKET_BASES = 3 };

struct native_job native_jobs[NATMOD_NPUS];
/**
 * The driver reads this until a payload's job has ended, and the collector traces its references.
 */
struct ethosu_ext_program natmod_programs[NATMOD_NPUS];

static struct native_job *job_of(mp_obj_t index)
{
    return &native_jobs[native_npu_of(index) - natmod_npus];
}

static struct ethosu_driver *npu_of(const struct native_job *job)
{
    return &natmod_npus[job - native_jobs];
}

/** An object as a number that the collector does not mistake for a pointer. */
static uintptr_t identity(mp_obj_t object)
{
    return ~(uintptr_t)object;
}

static bool is_active(const struct native_job *job)
{
    return job->ticket != 0;
}

/** Record a new job of an owner, followed by its ticket. header: NULL for a payload. */
static void set_job(struct native_job *job, const mp_obj_t *owner_and_ticket,
                    const struct native_model *header, bool reserved)
{
    *job = (struct native_job){
        .pinned = owner_and_ticket[1],
        .owner = identity(owner_and_ticket[0]),
        .ticket = identity(owner_and_ticket[1]),
        .model = header == NULL ? NULL : header->model,
        .arena = header == NULL ? NULL : &header->arena,
        .reserved = reserved,
    };
}

/** The job has ended: release its NPU and its memory. */
static void end_job(struct native_job *job)
{
    if (job->model != NULL) {
        ethosu_model_forget(job->model);
    }
    if (job->reserved) {
        ethosu_release_driver(npu_of(job));
    }
    natmod_programs[job - native_jobs] = (struct ethosu_ext_program){.owner = NULL};
    *job = (struct native_job){.cancelled = job->cancelled};
}

int native_job_stop(struct native_job *job)
{
    if (!is_active(job)) {
        return 0;
    }
    int error = ethosu_ext_cancel(npu_of(job));
    end_job(job);
    return error;
}

void native_job_unpin(struct native_job *job)
{
    if (job->model == NULL && !ethosu_ext_is_running(npu_of(job))) {
        job->pinned = MP_OBJ_NULL;
    }
}

/**
 * Raise an exception with the reason for a failed inference; after a time-out, with Python's value.
 */
static void raise_failure(struct ethosu_ext_fault fault, mp_obj_t late)
{
    if (late != mp_const_none && ethosu_ext_errno(fault.code) == ETHOSU_EXT_ETIMEDOUT) {
        fault.found = (uint32_t)mp_obj_get_int(late);
    }
    binding_raise_fault(&fault);
}

static void raise_busy(const char *message)
{
    binding_raise_os_error(ETHOSU_EXT_EBUSY, "%s", message);
}

static void raise_cancelled(void)
{
    binding_raise_os_error(ETHOSU_EXT_ECANCELED, "the inference was cancelled");
}

/* ---- payloads ---- */

/** Read the base pointers of a payload; returns their number. Raises. */
static int read_bases(mp_obj_t bases_in, uint64_t *base, size_t *size)
{
    size_t bases;
    mp_obj_t *items;
    mp_obj_get_array(bases_in, &bases, &items);
    if (bases > ETHOSU_EXT_MAX_BASES) {
        mp_raise_msg_varg(&mp_type_ValueError, MP_ERROR_TEXT("%d bases given, expected at most %d"),
                          (int)bases, ETHOSU_EXT_MAX_BASES);
    }
    for (size_t i = 0; i < bases; i++) {
        mp_buffer_info_t buffer = {NULL, 0, 0};
        if (items[i] != mp_const_none) {
            binding_get_buffer(items[i], &buffer, MP_BUFFER_READ, "base");
        }
        base[i] = (uintptr_t)buffer.buf;
        size[i] = buffer.len;
    }
    return (int)bases;
}

/** Raise TypeError if the command stream writes to a read-only buffer. */
static void check_written(const struct ethosu_ext_program *program, mp_obj_t bases_in)
{
    size_t bases;
    mp_obj_t *items;
    mp_obj_get_array(bases_in, &bases, &items);
    for (size_t i = 0; i < bases; i++) {
        if (program->written >> i & 1 && items[i] != mp_const_none) {
            mp_buffer_info_t buffer;
            binding_get_buffer(items[i], &buffer, MP_BUFFER_WRITE, "base that the payload writes");
        }
    }
}

/**
 * _invoke(handle, ticket, guard, payload, bases): check and start; the ticket keeps handle, payload
 * and bases.
 */
static mp_obj_t job_invoke(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    struct native_job *job = &native_jobs[native_guard_npu(args[2])];
    struct ethosu_driver *npu = npu_of(job);
    mp_buffer_info_t payload = native_buffer_of(args[3], MP_BUFFER_READ, "payload");
    struct ethosu_ext_program *program = &natmod_programs[job - native_jobs];
    uint64_t base[ETHOSU_EXT_MAX_BASES];
    size_t size[ETHOSU_EXT_MAX_BASES];
    int bases = read_bases(args[4], base, size);
    if (ethosu_ext_is_running(npu)) {
        raise_busy("an inference is running: wait() for it first");
    }
    (void)native_job_stop(job); // one that has ended, but without a wait
    if (ethosu_ext_prepare(npu, program, payload.buf, payload.len, base, size, bases, 0) != 0) {
        binding_raise_fault(ethosu_ext_last_error(npu));
    }
    check_written(program, args[4]);
    if (ethosu_ext_start(npu, program, NULL) != 0) {
        binding_raise_fault(ethosu_ext_last_error(npu));
    }
    set_job(job, args, NULL, false);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(job_invoke_obj, 5, 5, job_invoke);

/** _ticket(index): ticket of the current job, or None. */
static mp_obj_t job_ticket(mp_obj_t index)
{
    const struct native_job *job = job_of(index);
    return job->pinned == MP_OBJ_NULL ? mp_const_none : job->pinned;
}
static MP_DEFINE_CONST_FUN_OBJ_1(job_ticket_obj, job_ticket);

/** Are the buffers of a payload still at the same addresses as at its start? */
static bool is_in_place(const struct native_job *job)
{
    if (job->pinned == MP_OBJ_NULL) {
        return true;
    }
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(job->pinned, &count, &items);
    const struct ethosu_ext_program *program = ethosu_ext_last_program(npu_of(job));
    mp_buffer_info_t payload = native_buffer_of(items[TICKET_PAYLOAD], MP_BUFFER_READ, "payload");
    if (program->cpu_stream - (uintptr_t)payload.buf >= payload.len) {
        return false;
    }
    mp_obj_get_array(items[TICKET_BASES], &count, &items);
    for (size_t i = 0; i < count; i++) {
        mp_buffer_info_t then = {(void *)(uintptr_t)program->base[i].cpu, program->base[i].size, 0};
        if (then.len != 0 && !native_is_unmoved(items[i], &then)) {
            return false;
        }
    }
    return true;
}

/**
 * _finish(index, ticket, late): end a payload's job; True if it has ended. late: None, or the time-
 * out that has expired. Raises OSError(ECANCELED), once, if the job was cancelled.
 */
static mp_obj_t job_finish(mp_obj_t index, mp_obj_t ticket, mp_obj_t late)
{
    struct native_job *job = job_of(index);
    if (job->cancelled || (ticket != mp_const_none && identity(ticket) != job->ticket)) {
        job->cancelled = false; // another job may have started instead
        raise_cancelled();
    }
    int result = ethosu_ext_wait(npu_of(job), late != mp_const_none);
    if (result > 0) {
        return mp_const_false;
    }
    bool in_place = is_in_place(job);
    end_job(job);
    if (result < 0) {
        raise_failure(*ethosu_ext_last_error(npu_of(job)), late);
    }
    if (!in_place) {
        binding_raise_os_error(ETHOSU_EXT_EFAULT,
                               "payload or base was resized while the NPU used it: "
                               "other objects may be overwritten");
    }
    return mp_const_true;
}
static MP_DEFINE_CONST_FUN_OBJ_3(job_finish_obj, job_finish);

/* ---- models ---- */

/** Raise OSError(EBUSY) if a model, or its NPU, has a job. */
static void check_idle(const struct native_job *job, const struct ethosu_model *model)
{
    if (is_active(job) && job->model == model) {
        raise_busy("this model is running: wait for it, or cancel() it");
    }
}

static bool overlaps(uintptr_t base, size_t base_size, uintptr_t start, size_t size)
{
    return base < start + size && start < base + base_size;
}

/**
 * Does a job that has not been ended yet use these bytes? Memory of an unpinned payload may already
 * belong to another object.
 */
static bool job_uses(const struct native_job *job, uintptr_t start, size_t size)
{
    if (job->model != NULL) {
        return overlaps((uintptr_t)job->arena->buf, job->arena->len, start, size);
    }
    const struct ethosu_ext_program *program =
        job->pinned == MP_OBJ_NULL ? NULL : ethosu_ext_last_program(npu_of(job));
    for (unsigned i = 0; program != NULL && i < program->count; i++) {
        if (overlaps((uintptr_t)program->base[i].cpu, program->base[i].size, start, size)) {
            return true;
        }
    }
    return false;
}

void native_job_check_memory(const struct ethosu_model *model, const void *start, size_t size)
{
    for (unsigned i = 0; i < NATMOD_NPUS; i++) {
        const struct native_job *job = &native_jobs[i];
        bool other = is_active(job) && (model == NULL || job->model != model);
        if (other && job_uses(job, (uintptr_t)start, size)) {
            raise_busy("arena is in use: another model or a payload is running there; wait for it, "
                       "or cancel() it");
        }
    }
}

/** The header of a model's memory: see native_model_of(). */
static const struct native_model *header_in(mp_obj_t memory)
{
    size_t count;
    mp_obj_t *items;
    mp_obj_get_array(memory, &count, &items);
    return native_header_of(items[0]);
}

/** _check_busy(memory, index): before the model is closed */
static mp_obj_t job_check_busy(mp_obj_t memory, mp_obj_t index)
{
    check_idle(job_of(index), native_model_of(memory));
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(job_check_busy_obj, job_check_busy);

/** _check_idle(memory, index): before inputs are written */
static mp_obj_t job_check_idle(mp_obj_t memory, mp_obj_t index)
{
    const struct ethosu_model *model = native_model_of(memory);
    check_idle(job_of(index), model);
    const mp_buffer_info_t *arena = &header_in(memory)->arena;
    native_job_check_memory(model, arena->buf, arena->len);
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_2(job_check_idle_obj, job_check_idle);

/** Return whether the inference has ended; raises if it failed. */
static mp_obj_t progress(struct native_job *job, int status, mp_obj_t late)
{
    struct ethosu_ext_fault fault = *ethosu_ext_last_error(npu_of(job));
    if (status == ETHOSU_MODEL_PENDING) {
        return mp_const_false;
    }
    if (status == ETHOSU_MODEL_OK) {
        end_job(job);
        return mp_const_true;
    }
    (void)native_job_stop(job);
    if (status == ETHOSU_MODEL_BAD_VALUE) {
        mp_raise_ValueError("an operator's index is outside its tensor");
    }
    raise_failure(fault, late);
    return mp_const_none;
}

/**
 * _begin(model, ticket, memory, index, guard): start, after reserving the NPU unless the guard of a
 * handle is given. True: the inference is complete. None: the NPU is reserved by another owner.
 */
static mp_obj_t job_begin(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    struct ethosu_model *model = native_model_of(args[2]);
    struct native_job *job = job_of(args[3]);
    struct ethosu_driver *npu = npu_of(job);
    bool has_handle = args[4] != mp_const_none;
    check_idle(job, model);
    if (has_handle) {
        (void)native_guard_npu(args[4]);
        if (is_active(job)) {
            raise_busy("the NPU is busy: wait for it, or cancel() it");
        }
    } else if (ethosu_ext_reserve_this(npu, 0) != 0) {
        native_job_unpin(job);
        return mp_const_none;
    }
    set_job(job, args, header_in(args[2]), !has_handle);
    return progress(job, ethosu_model_start(model, npu), mp_const_none);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(job_begin_obj, 5, 5, job_begin);

/** _resume(memory, index, ticket, late): _finish() for a model; ticket None: any of its jobs. */
static mp_obj_t job_resume(size_t n_args, const mp_obj_t *args)
{
    (void)n_args;
    struct ethosu_model *model = native_model_of(args[0]);
    struct native_job *job = job_of(args[1]);
    if (!is_active(job) || job->model != model ||
        (args[2] != mp_const_none && identity(args[2]) != job->ticket)) {
        raise_cancelled();
    }
    ethosu_ext_set_timeout(npu_of(job), 1);
    return progress(job, ethosu_model_resume(model, args[3] != mp_const_none), args[3]);
}
static MP_DEFINE_CONST_FUN_OBJ_VAR_BETWEEN(job_resume_obj, 4, 4, job_resume);

/** _stop(index, of, report): stop a job of this owner or ticket; report: the next wait() reports
 * it. */
static mp_obj_t job_stop(mp_obj_t index, mp_obj_t of, mp_obj_t report)
{
    struct native_job *job = job_of(index);
    if (!is_active(job) || (identity(of) != job->owner && identity(of) != job->ticket)) {
        return mp_const_none;
    }
    job->cancelled = job->model == NULL && mp_obj_is_true(report);
    if (native_job_stop(job) != 0) {
        binding_raise_fault(ethosu_ext_last_error(npu_of(job)));
    }
    return mp_const_none;
}
static MP_DEFINE_CONST_FUN_OBJ_3(job_stop_obj, job_stop);

void native_job_register(void)
{
    mp_store_global(MP_QSTR__invoke, MP_OBJ_FROM_PTR(&job_invoke_obj));
    mp_store_global(MP_QSTR__ticket, MP_OBJ_FROM_PTR(&job_ticket_obj));
    mp_store_global(MP_QSTR__finish, MP_OBJ_FROM_PTR(&job_finish_obj));
    mp_store_global(MP_QSTR__check_busy, MP_OBJ_FROM_PTR(&job_check_busy_obj));
    mp_store_global(MP_QSTR__check_idle, MP_OBJ_FROM_PTR(&job_check_idle_obj));
    mp_store_global(MP_QSTR__begin, MP_OBJ_FROM_PTR(&job_begin_obj));
    mp_store_global(MP_QSTR__resume, MP_OBJ_FROM_PTR(&job_resume_obj));
    mp_store_global(MP_QSTR__stop, MP_OBJ_FROM_PTR(&job_stop_obj));
}
