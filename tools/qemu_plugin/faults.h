// SPDX-License-Identifier: MIT
/** Faults that the user or the guest lets devices have: [DEVICE.]NAME[:COUNT]. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>

/** Bytes that hold any such text. */
#define FAULT_TEXT_SIZE 64

struct fault {
    char device[FAULT_TEXT_SIZE]; /**< "npu" when the text names none */
    char name[FAULT_TEXT_SIZE];
    unsigned count; /**< 1 when the text has none */
};

/** Take such a text apart. False: it is none. */
bool fault_parse(struct fault *fault, const char *text);

/**
 * Let the named device have the fault; in plugin.c, which has the devices.
 *
 * @return  false: the text, the device or the fault is unknown
 */
bool faults_inject(const char *text);

#endif
