// SPDX-License-Identifier: MIT
/** Error reporting within the driver. */
#ifndef ETHOSU_FAULT_H
#define ETHOSU_FAULT_H

#include "ethosu_driver.h"

/** Return the error code of a failed call. */
#define RETURN_IF_ERROR(call)      \
    do {                           \
        const int error_ = (call); \
        if (error_ != 0) {         \
            return error_;         \
        }                          \
    } while (0)

/** Log a fault and store it in `fault`, which may be NULL. @return its code */
int ethosu_ext_report(struct ethosu_ext_fault *fault, const struct ethosu_ext_fault *what);

/** The same for a fault with only these values. */
int ethosu_ext_refuse_wide(struct ethosu_ext_fault *fault, int code, int index, uint64_t found,
                           uint64_t expected);

/** The same for values no wider than an address. */
int ethosu_ext_refuse(struct ethosu_ext_fault *fault, int code, int index, size_t found,
                      size_t expected);

/** The same without values. */
int ethosu_ext_fail(struct ethosu_ext_fault *fault, int code, int index);

/** Row of an error in tables in the order of ethosu_errors.def, whose row 0 is no error. */
unsigned ethosu_ext_error_row(int error);

/** Time-out in milliseconds, for messages. */
static inline uint64_t ethosu_ext_milliseconds(uint64_t timeout)
{
    bool same = ETHOSU_EXT_SECOND == 1000 || timeout == ETHOSU_SEMAPHORE_WAIT_FOREVER;
    return same ? timeout : timeout / ETHOSU_EXT_SECOND * 1000;
}

#endif
