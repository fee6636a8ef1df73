// SPDX-License-Identifier: MIT
/**
 * Faults that the user or the guest lets devices have:
 * [DEVICE.]NAME[:COUNT][@AFTER], AFTER in nanoseconds of the guest's time. On a
 * board whose time follows its instructions, that is an instruction of the
 * program, and the same one each time.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stdint.h>

/** Bytes that hold any such text. */
#define FAULT_TEXT_SIZE 64

struct fault {
    char device[FAULT_TEXT_SIZE]; /**< "npu" when the text names none */
    char name[FAULT_TEXT_SIZE];
    unsigned count; /**< 1 when the text has none */
    uint64_t after; /**< 0: now */
};

/** Take such a text apart. False: it is none. */
bool fault_parse(struct fault *fault, const char *text);

/**
 * Let the named device have the fault, now or later; in plugin.c, which has the
 * devices. It takes the place of one that waits under the same name.
 *
 * @return  false: the text, the device or the fault is unknown
 */
bool faults_inject(const char *text);

#endif
