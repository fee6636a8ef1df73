// SPDX-License-Identifier: MIT
/**
 * What a build contains. A makefile may set each of these to 0, with -D; all are on by default.
 * ethosu_products.c reads them, and makes the one table through which the driver reaches a
 * product or the verifier. The linker then leaves out what that table does not name.
 */
#ifndef ETHOSU_BUILD_H
#define ETHOSU_BUILD_H

/** The check of command streams. Without it ethosu_ext_prepare() needs ETHOSU_EXT_NO_VERIFY. */
#ifndef ETHOSU_VERIFY
#define ETHOSU_VERIFY 1
#endif

/**
 * 1: ethosu_invoke_*() runs streams as they are, until ethosu_ext_set_verify(drv, true). For a
 * client that can't say so itself, of a firmware that runs only models of its own.
 */
#ifndef ETHOSU_TRUST_STREAMS
#define ETHOSU_TRUST_STREAMS 0
#endif

/** Support for each family of NPUs. */
#ifndef ETHOSU_U55
#define ETHOSU_U55 1
#endif
#ifndef ETHOSU_U65
#define ETHOSU_U65 1
#endif
#ifndef ETHOSU_U85
#define ETHOSU_U85 1
#endif

#if !(ETHOSU_U55 || ETHOSU_U65 || ETHOSU_U85)
#error "This build supports no NPU: set ETHOSU_U55, ETHOSU_U65 or ETHOSU_U85 to 1"
#endif

#endif
