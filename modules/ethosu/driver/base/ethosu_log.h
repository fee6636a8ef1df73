// SPDX-License-Identifier: MIT
/**
 * The driver's log, off by default and then free. To enable it, define
 * ETHOSU_LOG_SEVERITY; a build may also supply ethosu_ext_log().
 *
 * The levels have the names and numbers of Arm's driver. ERR: each error, with
 * the text of ethosu_ext_describe(). INFO: each NPU found.
 * DEBUG: each start, end and reset. Nothing is logged from an interrupt.
 */
#ifndef ETHOSU_LOG_H
#define ETHOSU_LOG_H

#include "ethosu_ext.h"

#define ETHOSU_LOG_NONE (-1)
#define ETHOSU_LOG_ERR 0
#define ETHOSU_LOG_WARN 1
#define ETHOSU_LOG_INFO 2
#define ETHOSU_LOG_DEBUG 3

/** Least severe level that is logged. */
#ifndef ETHOSU_LOG_SEVERITY
#define ETHOSU_LOG_SEVERITY ETHOSU_LOG_NONE
#endif

#if ETHOSU_LOG_SEVERITY >= ETHOSU_LOG_DEBUG
#define ETHOSU_EXT_LOG_DEBUG(text) ethosu_ext_log(ETHOSU_LOG_DEBUG, text)
#else
#define ETHOSU_EXT_LOG_DEBUG(text) ((void)0)
#endif

#endif
