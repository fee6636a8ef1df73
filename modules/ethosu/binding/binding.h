// SPDX-License-Identifier: MIT
/** What the files of the Python module `ethosu` share. */
#ifndef BINDING_H
#define BINDING_H

#include "ethosu_ext.h"
#include "ethosu_model.h"
#include "py/obj.h"

/** NPUs that the module serves; a board may have fewer. */
#define BINDING_MAX_NPUS 4

/** Default time-out of an inference, milliseconds. */
#define BINDING_TIMEOUT_MS ETHOSU_SEMAPHORE_WAIT_INFERENCE

extern const mp_obj_type_t binding_npu_type;
extern const mp_obj_type_t binding_model_type;
extern const mp_obj_type_t binding_tensor_type;
extern const mp_obj_type_t binding_pmu_type;

/** For soft reset, and before the machine is reset: no NPU works in memory after this. */
void ethosu_deinit_all(void);

/** ethosu.reserve(), NPU.pmu() */
MP_DECLARE_CONST_FUN_OBJ_KW(binding_reserve_obj);
MP_DECLARE_CONST_FUN_OBJ_VAR(binding_pmu_obj);

/** The NPU that an argument names: None (the first), an index, or a config's name. Raises. */
struct ethosu_driver *binding_choose_npu(mp_obj_t which);

/** Reserve this very NPU, waiting at most so many milliseconds. Raises. */
void binding_reserve_npu(struct ethosu_driver *npu, uint64_t timeout);

/** Index of an NPU of the board, for binding_keep(). */
size_t binding_index(const struct ethosu_driver *npu);

/** Keep an object alive until the NPU has finished its inference; MP_OBJ_NULL: no more. */
void binding_keep(const struct ethosu_driver *npu, mp_obj_t object);

/**
 * Have `callback(object)` called by the scheduler when the NPU has finished;
 * MP_OBJ_NULL: nothing. What the callback raises is printed.
 */
void binding_call_back(const struct ethosu_driver *npu, mp_obj_t callback, mp_obj_t object);

/** Who is at work on an NPU. What shares a handle shares the NPU, so its reservation is not enough.
 */
struct binding_work {
    struct model_obj *model; /**< or NULL; the collector does not look here, and may take it */
    bool awaited; /**< C code waits: callbacks that run meanwhile may stop the NPU, but not start it
                   */
};

struct binding_work *binding_work(struct ethosu_driver *npu);

/** Raise OSError(EBUSY) when somebody is at work on this NPU. */
void binding_check_idle(struct ethosu_driver *npu);

/** Stop what runs on this NPU, and wake who waits for it; the driver's error. */
int binding_stop(struct ethosu_driver *npu);

/** How long an inference may take, and since when it runs. */
struct deadline {
    uint32_t begun;   /**< ethosu_board_ticks_ms() */
    uint64_t timeout; /**< milliseconds, or ETHOSU_SEMAPHORE_WAIT_FOREVER */
};

/** Is an inference under way that the NPU has not finished? */
bool binding_running(const struct ethosu_driver *npu);

/** Milliseconds that are left, at least 1, so that a wait with them does wait. */
uint64_t binding_time_left(const struct deadline *deadline);

/** Answer to select.poll(): readable when the NPU has finished, or its time is up. */
mp_uint_t binding_poll(const struct ethosu_driver *npu, const struct deadline *deadline,
                       mp_uint_t request, uintptr_t flags, int *error);

/** Call a function of the frozen module `_ethosu`, where the policy is. */
mp_obj_t binding_call_python(qstr name, size_t positional, const mp_obj_t *arguments,
                             mp_map_t *keywords);

/** A method that is a function of `_ethosu`. */
#define BINDING_PYTHON_METHOD(object, name)                                                    \
    static mp_obj_t object##_call(size_t count, const mp_obj_t *arguments, mp_map_t *keywords) \
    {                                                                                          \
        return binding_call_python(name, count, arguments, keywords);                          \
    }                                                                                          \
    static MP_DEFINE_CONST_FUN_OBJ_KW(object, 1, object##_call)

/** What help() shows of a module or type, and its entry in the table; a terse build has neither. */
#ifdef ETHOSU_MESSAGES_TERSE
#define BINDING_DOC(name, text)
#define BINDING_DOC_ENTRY(name)
#else
#define BINDING_DOC(name, text) static const MP_DEFINE_STR_OBJ(name, text);
#define BINDING_DOC_ENTRY(name) {MP_ROM_QSTR(MP_QSTR___doc__), MP_ROM_PTR(&name)},
#endif

/** Raise what a fault of the driver means in Python. */
_Noreturn void binding_raise_fault(const struct ethosu_ext_fault *fault);

/** Raise why an inference of a model failed, with the operator's name where it is known. */
_Noreturn void binding_raise_inference(const struct ethosu_model *model, int status,
                                       const struct ethosu_ext_fault *fault);

/** Raise OSError(ECANCELED). */
_Noreturn void binding_raise_cancelled(void);

/** Raise OSError(number, text). */
_Noreturn void binding_raise_os_error(int number, const char *text);

/** Raise what the runtime refused a model for. */
_Noreturn void binding_raise_model(int status, const struct ethosu_model_error *error);

/**
 * Raise what came up while the C code below waited for the NPU: Ctrl-C, or an
 * exception that a callback let through. By now the NPU has been stopped.
 */
void binding_raise_pending(void);

/** Read a time-out argument: milliseconds, -1 for none. Raises. */
uint64_t binding_timeout(mp_int_t milliseconds);

/**
 * Where a buffer argument lies; raises TypeError, with a hint what it was.
 *
 * @param what  name of the argument, for the message
 */
void binding_get_buffer(mp_obj_t object, mp_buffer_info_t *buffer, mp_uint_t flags,
                        const char *what);

/** A list, tuple or None as it is; what else can be iterated, which may run Python, as a tuple. */
mp_obj_t binding_sequence(mp_obj_t given);

/** Memory on the heap that shares no cache line with others. */
struct block {
    void *start; /**< as the collector knows it */
    void *data;  /**< aligned for the NPU and to cache lines */
    size_t size; /**< bytes from data on, whole cache lines */
};

/** Round up to what the NPU and the cache need. */
size_t binding_align(size_t value);

/** Take a block of at least so many bytes. */
struct block binding_allocate(size_t size);

/**
 * The size of a buffer with the rest of its last cache line, if nothing else can lie there: as in
 * what ethosu.buffer() gives. Else its size.
 */
size_t binding_whole_lines(mp_obj_t object, const mp_buffer_info_t *buffer);

/** dict[key] = text */
void binding_store_text(mp_obj_t dict, qstr key, const char *text);

/** Name of the NPU's config as a str. */
mp_obj_t binding_config(const struct ethosu_driver *npu);

#endif
