// SPDX-License-Identifier: MIT
/** The console of this board: bytes to and from the JavaScript around it. */
#ifndef WEB_UART_H
#define WEB_UART_H

#include <stdbool.h>

/** Take the input that is there, as an interrupt handler would. */
void uart_receive(void);

/** Is there input that uart_receive() can take? */
bool uart_has_input(void);

#endif
