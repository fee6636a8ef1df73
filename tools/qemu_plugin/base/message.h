// SPDX-License-Identifier: MIT
/**
 * Lines that the plugin prints on the host's stderr. Each has the prefix "ethosu: " and is written
 * by one call, so that threads do not mix them.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/** Verbosity; each level includes the previous ones. */
enum message_level {
    MESSAGE_NONE,        /**< only essential output: argument errors, the console's path */
    MESSAGE_GUEST_ERROR, /**< errors of the guest, or features that the simulator lacks */
    MESSAGE_ALL,
};

void message_set_level(enum message_level level);

/** Print a line if `level` is enabled; MESSAGE_NONE is always printed. */
__attribute__((format(printf, 2, 3))) void message(enum message_level level, const char *format,
                                                   ...);

/** Print an error and end the process, for errors detected after the plugin was loaded. */
__attribute__((format(printf, 1, 2), noreturn)) void fatal(const char *format, ...);

#endif
