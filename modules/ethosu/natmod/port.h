// SPDX-License-Identifier: MIT
/** The surroundings of driver and runtime inside a native .mpy; see port.c. */
#ifndef NATMOD_PORT_H
#define NATMOD_PORT_H

/** NPUs that init() can name. */
#define PORT_NPUS 4

/** Look at the data cache, which has to be on or off by now. */
void port_init(void);

#endif
