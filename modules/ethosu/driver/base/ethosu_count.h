// SPDX-License-Identifier: MIT
#ifndef ETHOSU_COUNT_H
#define ETHOSU_COUNT_H

/** Elements of an array. */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
