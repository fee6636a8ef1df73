// SPDX-License-Identifier: MIT
/** Configuration of the unix port with module `ethosu`; see mpconfigvariant.mk. */
#define MICROPY_CONFIG_ROM_LEVEL (MICROPY_CONFIG_ROM_LEVEL_EXTRA_FEATURES)

#include "variants/mpconfigvariant_common.h"

// Ctrl-C must not leave the driver from a signal handler: it raises when the driver is done.
#undef MICROPY_ASYNC_KBD_INTR
#define MICROPY_ASYNC_KBD_INTR (0)

// The module needs it.
#define MICROPY_SCHEDULER_STATIC_NODES (1)
