// SPDX-License-Identifier: MIT
/** The hooks of driver and runtime inside a native .mpy; see port.c. */
#ifndef NATMOD_PORT_H
#define NATMOD_PORT_H

/** NPUs that init() can name. */
#define PORT_NPUS 4

/** Read whether the data cache is on; it must not be switched later. */
void port_init(void);

#endif
