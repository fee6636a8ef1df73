// SPDX-License-Identifier: MIT
/** Fills in faults. */
#include "driver/base/ethosu_fault.h"

#include "ethosu_ext.h"
#include "driver/base/ethosu_log.h"

#define ETHOSU_EXT_ERROR(number, name, errno_name, message) ROW_##name,
enum {
    ROW_NO_ERROR,
#include "ethosu_errors.def"
    ROW_COUNT
};
#undef ETHOSU_EXT_ERROR

/** The errors of an add-on have the last rows, and numbers from here on. */
#define FIRST_ADDED 101u

#define ETHOSU_EXT_ERROR(number, name, errno_name, message) +(number##u < FIRST_ADDED)
enum {
    ROW_ADDED_ = 1
#include "ethosu_errors.def"
};
#undef ETHOSU_EXT_ERROR
#define ROW_ADDED ((unsigned)ROW_ADDED_)

#define ROW_OF(number) ((number) < ROW_ADDED ? (number) : (number) - FIRST_ADDED + ROW_ADDED)

#define ETHOSU_EXT_ERROR(number, name, errno_name, message) \
    _Static_assert(ROW_##name == ROW_OF(number##u),         \
                   "the numbers of errors must follow one another");
#include "ethosu_errors.def"
#undef ETHOSU_EXT_ERROR

static const uint8_t errnos[ROW_COUNT] = {
#define ETHOSU_EXT_ERROR(number, name, errno_name, message) [ROW_##name] = ETHOSU_EXT_##errno_name,
#include "ethosu_errors.def"
#undef ETHOSU_EXT_ERROR
};

#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_ERR
static void log_fault(const struct ethosu_ext_fault *fault)
{
    char text[160];
    (void)ethosu_ext_describe(fault, text, sizeof text);
    ethosu_ext_log(ETHOSU_LOG_ERR, text);
}
#else
static void log_fault(const struct ethosu_ext_fault *fault)
{
    (void)fault;
}
#endif

typedef uint32_t __attribute__((may_alias)) fault_word;

/** Store word by word, because two threads may fail and write here at the same time. */
static void store(struct ethosu_ext_fault *fault, const struct ethosu_ext_fault *what)
{
    _Static_assert(sizeof *fault % sizeof(fault_word) == 0, "a fault is made of words");
    const fault_word *from = (const fault_word *)what;
    fault_word *to = (fault_word *)fault;
    for (size_t i = 0; i < sizeof *fault / sizeof(fault_word); i++) {
        __atomic_store_n(&to[i], from[i], __ATOMIC_RELAXED);
    }
}

int ethosu_ext_report(struct ethosu_ext_fault *fault, const struct ethosu_ext_fault *what)
{
    log_fault(what);
    if (fault != NULL) {
        store(fault, what);
    }
    return what->code;
}

int ethosu_ext_refuse_wide(struct ethosu_ext_fault *fault, int code, int index, uint64_t found,
                           uint64_t expected)
{
    return ethosu_ext_report(
        fault, &(struct ethosu_ext_fault){
                   .code = code, .index = index, .found = found, .expected = expected});
}

int ethosu_ext_refuse(struct ethosu_ext_fault *fault, int code, int index, size_t found,
                      size_t expected)
{
    return ethosu_ext_refuse_wide(fault, code, index, found, expected);
}

int ethosu_ext_fail(struct ethosu_ext_fault *fault, int code, int index)
{
    return ethosu_ext_refuse_wide(fault, code, index, 0, 0);
}

unsigned ethosu_ext_error_row(int error)
{
    const unsigned number = 0u - (unsigned)error;
    const bool in_gap = number >= ROW_ADDED && number < FIRST_ADDED;
    return !in_gap && ROW_OF(number) < ROW_COUNT ? ROW_OF(number) : ROW_NO_ERROR;
}

int ethosu_ext_errno(int error)
{
    return errnos[ethosu_ext_error_row(error)];
}
