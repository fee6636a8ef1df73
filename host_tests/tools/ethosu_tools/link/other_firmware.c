// SPDX-License-Identifier: MIT
/**
 * Third-party firmware: it prints by UART and semihosting, reads the NPU's identity, and ends as
 * its command line requests.
 */
#define SYSTICK_HANDLER reset
#include "semihost.h"

#define UART_DATA (*(volatile uint32_t *)0x49303000u)
#define UART_STATE (*(volatile uint32_t *)0x49303004u)
#define UART_CONTROL (*(volatile uint32_t *)0x49303008u)
#define NPU_CONFIG (*(volatile uint32_t *)0x48102028u)

static char words[256];

static int given(const char *word)
{
    for (const char *at = words; *at != '\0'; at++) {
        unsigned same = 0;
        while (word[same] != '\0' && at[same] == word[same]) {
            same++;
        }
        if (word[same] == '\0') {
            return 1;
        }
    }
    return 0;
}

static void uart(const char *text)
{
    while (*text != '\0') {
        UART_DATA = (uint32_t)*text++;
    }
}

void reset(void)
{
    struct {
        char *buffer;
        uint32_t size;
    } line = {words, sizeof words};
    start_counter();
    semihost(0x15, &line);
    if (given("stderr")) {
        const uintptr_t opened[] = {(uintptr_t)":tt", 8, 3};
        const uintptr_t written[] = {(uintptr_t)semihost(1, opened), (uintptr_t)"failed", 6};
        semihost(5, written);
    }
    if (given("silent")) {
        for (;;) {
        }
    }
    UART_CONTROL = 3;
    while (given("await") && (UART_STATE & 2) == 0) {
    }
    uart("by UART\n");
    print("by semihosting: log2 of the MACs is", NPU_CONFIG & 15);
    if (given("eot")) {
        uart("\x04");
    }
    if (given("code")) {
        uart("\x04\x09");
        for (;;) {
        }
    }
    if (given("text")) {
        uart("all tests pass");
    }
    leave(given("exit") ? 7 : 0);
    for (;;) {
    }
}
