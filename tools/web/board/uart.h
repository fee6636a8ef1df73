// SPDX-License-Identifier: MIT
/** The console of this board: bytes to and from JavaScript. */
#ifndef WEB_UART_H
#define WEB_UART_H

#include <stdbool.h>

/** Read the available input, as an interrupt handler would. */
void uart_receive(void);

/** Is input available for uart_receive()? */
bool uart_has_input(void);

#endif
