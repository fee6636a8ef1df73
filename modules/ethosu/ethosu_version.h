// SPDX-License-Identifier: MIT
/** Version of the module and of the tools; `ethosu.__version__`. */
#ifndef ETHOSU_VERSION_H
#define ETHOSU_VERSION_H

#define ETHOSU_VERSION "0.2.0"

#endif
