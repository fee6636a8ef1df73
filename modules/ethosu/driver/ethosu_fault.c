// SPDX-License-Identifier: MIT
/** Faults: filling them in. */
#include "ethosu_fault.h"

#include "ethosu_driver_ex.h"
#include "ethosu_log.h"

#define ETHOSUX_ERROR(number, name, errno_name, sentence) PLACE_##name,
enum {
    PLACE_NO_ERROR,
#include "ethosu_errors.def"
    ERROR_COUNT
};
#undef ETHOSUX_ERROR
#define ETHOSUX_ERROR(number, name, errno_name, sentence) \
    _Static_assert(PLACE_##name == (number), "the numbers of errors must follow one another");
#include "ethosu_errors.def"
#undef ETHOSUX_ERROR

static const uint8_t errnos[ERROR_COUNT] = {
#define ETHOSUX_ERROR(number, name, errno_name, sentence) [number] = ETHOSUX_##errno_name,
#include "ethosu_errors.def"
#undef ETHOSUX_ERROR
};

#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_ERR
static void log_fault(const struct ethosux_fault *fault)
{
    char text[160];
    (void)ethosux_describe(fault, text, sizeof text);
    ethosux_log(ETHOSU_LOG_ERR, text);
}
#else
static void log_fault(const struct ethosux_fault *fault)
{
    (void)fault;
}
#endif

int ethosux_report(struct ethosux_fault *fault, const struct ethosux_fault *what)
{
    log_fault(what);
    if (fault != NULL) {
        *fault = *what;
    }
    return what->code;
}

int ethosux_refuse_wide(struct ethosux_fault *fault, int code, int index, uint64_t found,
                        uint64_t expected)
{
    return ethosux_report(fault,
                          &(struct ethosux_fault){
                              .code = code, .index = index, .found = found, .expected = expected});
}

int ethosux_refuse(struct ethosux_fault *fault, int code, int index, size_t found, size_t expected)
{
    return ethosux_refuse_wide(fault, code, index, found, expected);
}

int ethosux_fail(struct ethosux_fault *fault, int code, int index)
{
    return ethosux_refuse_wide(fault, code, index, 0, 0);
}

static unsigned error_index(int error)
{
    unsigned index = 0u - (unsigned)error;
    return index < ERROR_COUNT ? index : 0;
}

int ethosux_errno(int error)
{
    return errnos[error_index(error)];
}
