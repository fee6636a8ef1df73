// SPDX-License-Identifier: MIT
/**
 * A program with newlib's semihosting start-up (rdimon), as ExecuTorch's runner is: each word of
 * its command line is a step NAME[:ARGUMENT]. It prints them first, unless the first is "silent".
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UART0 0x49303000u
#define UART_SIZE 0x1000u
#define NPU_CONFIG 0x48102028u
#define EOT 4

static volatile uint32_t *reg(uint32_t address)
{
    return (volatile uint32_t *)(uintptr_t)address;
}

static void malloc_bytes(const char *argument)
{
    size_t size = strtoul(argument, NULL, 0);
    unsigned char *bytes = malloc(size);
    unsigned long sum = 0;
    for (size_t i = 0; bytes && i < size; i++) {
        bytes[i] = (unsigned char)i;
    }
    for (size_t i = 0; bytes && i < size; i++) {
        sum += bytes[i];
    }
    printf("malloc: %s, sum %lu\n", bytes ? "ok" : "NULL", sum);
}

/** Print where the heap goes. */
static void place(const char *argument)
{
    (void)argument;
    printf("stack %p heap %p\n", __builtin_frame_address(0), malloc(16));
}

static uint32_t semihosting(uint32_t number, const void *block)
{
    register uint32_t operation __asm("r0") = number;
    register const void *place __asm("r1") = block;
    __asm volatile("bkpt 0xAB" : "+r"(operation) : "r"(place) : "memory");
    return operation;
}

/** Print the block of SYS_HEAPINFO. */
static void heapinfo(const char *argument)
{
    (void)argument;
    uint32_t block[4] = {1, 1, 1, 1}, *pointer = block;
    semihosting(0x16, &pointer);
    printf("heapinfo");
    for (int i = 0; i < 4; i++) {
        printf(" %lx", (unsigned long)block[i]);
    }
    printf("\n");
}

/**
 * NAME,OPERATION,WORD,...: a call as it is, and print what it returns and SYS_ERRNO. A word is a
 * number, "@TEXT" for the address of a text, "$" for the value before, or "&" for a buffer, whose
 * text is printed. A word "at" before a number: the address of the block.
 */
static void call(const char *argument)
{
    static uint32_t before;
    char line[8192], buffer[64];
    uint32_t block[8] = {0}, count = 0;
    const void *place = block;
    snprintf(line, sizeof line, "%s", argument);
    char *name = strtok(line, ","), *word = strtok(NULL, ",");
    uint32_t operation = strtoul(word, NULL, 0);
    buffer[0] = '\0';
    while ((word = strtok(NULL, ",")) && count < 8) {
        if (strncmp(word, "at", 2) == 0) {
            place = (const void *)strtoul(word + 2, NULL, 0);
            continue;
        }
        block[count++] = *word == '@'   ? (uint32_t)(word + 1)
                         : *word == '$' ? before
                         : *word == '&' ? (uint32_t)buffer
                                        : strtoul(word, NULL, 0);
    }
    uint32_t result = semihosting(operation, place);
    before = result;
    long error = (long)semihosting(0x13, NULL);
    printf("%s: %ld %ld%s%s\n", name, (long)result, error, *buffer ? " " : "", buffer);
}

/** IN,OUT: copy a file in upper case, and append its size. */
static void copy(const char *argument)
{
    char names[128];
    snprintf(names, sizeof names, "%s", argument);
    char *to = strchr(names, ',');
    *to++ = '\0';
    FILE *in = fopen(names, "rb"), *out = in ? fopen(to, "wb") : NULL;
    if (!out) {
        printf("copy: cannot open %s\n", in ? to : names);
        return;
    }
    long size = 0;
    for (int c; (c = fgetc(in)) != EOF; size++) {
        fputc(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c, out);
    }
    fprintf(out, "%ld", size);
    fclose(in);
    printf("copy: %s\n", fclose(out) == 0 ? "ok" : "cannot close");
}

static void uart_put(unsigned number, char c)
{
    volatile uint32_t *uart = reg(UART0 + number * UART_SIZE);
    uart[4] = 16; // BAUDDIV, the smallest
    uart[2] = 3;  // both directions
    while (uart[1] & 1) {
    }
    uart[0] = (unsigned char)c;
}

/** N,TEXT: print a line on UART N; a "^" is EOT, and at the end there is no newline after it. */
static void uart(const char *argument)
{
    char *text;
    unsigned number = (unsigned)strtoul(argument, &text, 0);
    while (*++text) {
        uart_put(number, (char)(*text == '^' ? EOT : *text));
    }
    if (text[-1] != '^') {
        uart_put(number, '\n');
    }
}

/** Send back what arrives at UART0 plus 1, up to a newline. */
static void echo(const char *argument)
{
    (void)argument;
    uart_put(0, '>');
    for (uint32_t c = 0; c != '\n';) {
        if (reg(UART0)[1] & 2) {
            c = reg(UART0)[0];
            uart_put(0, (char)(c == '\n' ? c : c + 1));
        }
    }
}

/** Wait for a newline at UART0, and send nothing: a terminal that echoes would answer itself. */
static void await(const char *argument)
{
    (void)argument;
    while (!(reg(UART0)[1] & 2) || reg(UART0)[0] != '\n') {
    }
}

static void touch(const char *argument)
{
    uint32_t address = strtoul(argument, NULL, 16);
    *reg(address) = address;
    printf("touch %08lx: %s\n", (unsigned long)address, *reg(address) == address ? "ok" : "wrong");
    fflush(stdout);
}

static void peek(const char *argument)
{
    uint32_t address = strtoul(argument, NULL, 16);
    printf("peek %08lx: %08lx\n", (unsigned long)address, (unsigned long)*reg(address));
}

static void npu(const char *argument)
{
    (void)argument;
    printf("log2 of the MACs: %lu\n", (unsigned long)(*reg(NPU_CONFIG) & 15));
}

static void error(const char *argument)
{
    fprintf(stderr, "%s\n", argument);
}

/** Print a line at once. */
static void write_line(const char *argument)
{
    printf("%s\n", argument);
    fflush(stdout);
}

/** FILE,TEXT */
static void append(const char *argument)
{
    char name[128];
    snprintf(name, sizeof name, "%s", argument);
    char *text = strchr(name, ',');
    *text++ = '\0';
    FILE *file = fopen(name, "a");
    printf("append: %s\n", file && fputs(text, file) >= 0 && fclose(file) == 0 ? "ok" : "failed");
}

static void spin(const char *argument)
{
    (void)argument;
    fflush(stdout);
    for (;;) {
    }
}

/** N,TEXT: print lines on UART N for ever. */
static void flood(const char *argument)
{
    for (;;) {
        uart(argument);
    }
}

static void leave(const char *argument)
{
    exit(atoi(argument));
}

static void step(const char *word);

/** FILE: steps, one a line. */
static void script(const char *argument)
{
    char line[8192];
    FILE *file = fopen(argument, "r");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        step(line);
    }
    fclose(file);
}

static void step(const char *word)
{
    static const struct {
        const char *name;
        void (*act)(const char *argument);
    } steps[] = {
        {"await", await}, {"append", append},     {"copy", copy},        {"echo", echo},
        {"error", error}, {"heapinfo", heapinfo}, {"exit", leave},       {"malloc", malloc_bytes},
        {"npu", npu},     {"peek", peek},         {"place", place},      {"spin", spin},
        {"touch", touch}, {"uart", uart},         {"write", write_line}, {"flood", flood},
        {"call", call},   {"script", script},
    };
    const char *colon = strchr(word, ':');
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        if (strlen(steps[i].name) == length && memcmp(steps[i].name, word, length) == 0) {
            steps[i].act(colon ? colon + 1 : "");
        }
    }
}

int main(int count, char **words)
{
    if (count < 2 || strcmp(words[1], "silent") != 0) {
        printf("%s:", words[0]);
        for (int i = 1; i < count; i++) {
            printf(" [%s]", words[i]);
        }
        printf("\n");
        fflush(stdout);
    }
    for (int i = 1; i < count; i++) {
        step(words[i]);
    }
    return 0;
}
