// SPDX-License-Identifier: MIT
/**
 * Device faults injected by the user or the guest: [DEVICE.]NAME[:COUNT][@AFTER], AFTER in
 * nanoseconds of guest time. On boards whose time follows the instruction count, this is always the
 * same instruction of the program.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/** Buffer size for any such text. */
#define FAULT_TEXT_SIZE 64

struct fault {
    char device[FAULT_TEXT_SIZE]; /**< "npu" by default */
    char name[FAULT_TEXT_SIZE];
    unsigned count; /**< 1 by default */
    uint64_t after; /**< 0 for now */
};

/** Parse a fault. False if malformed. */
bool fault_parse(struct fault *fault, const char *text);

/**
 * Call `inject` with the fault when its time has come.
 *
 * @return  false if too many are pending
 */
bool fault_delay(const struct fault *fault, void (*inject)(const struct fault *fault));

/** Cancel pending faults of this device and name. */
void fault_cancel(const struct fault *fault);

#endif
