// SPDX-License-Identifier: MIT
/**
 * Lines that the plugin prints on the host's stderr, each with the prefix
 * "ethosu: " and written by one call, so that threads do not mix them.
 */
#ifndef MESSAGE_H
#define MESSAGE_H

/** How much is printed; a level includes those before it. */
enum message_level {
    MESSAGE_NONE, /**< only what the user must see: errors of arguments, the console's path */
    MESSAGE_GUEST_ERROR, /**< the guest did what it should not, or what the simulator lacks */
    MESSAGE_ALL,
};

void message_set_level(enum message_level level);

/** Print a line when `level` is wanted. MESSAGE_NONE: always. */
__attribute__((format(printf, 2, 3))) void message(enum message_level level, const char *format,
                                                   ...);

/** Print an error and end the process: for faults that show after the plugin was loaded. */
__attribute__((format(printf, 1, 2), noreturn)) void fatal(const char *format, ...);

#endif
