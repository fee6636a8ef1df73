// SPDX-License-Identifier: MIT
/** Faults: filling them in, and putting them into words without the C library's printf. */
#include "ethosu_fault.h"

#include "ethosu_driver_ex.h"
#include "ethosu_registers.h"

static const struct {
    uint8_t number;
    const char *sentence;
} errors[] = {
    {0, "no error"},
#define ETHOSUX_ERROR(number, name, errno_name, sentence) \
    [number] = {ETHOSUX_##errno_name, sentence},
#include "ethosu_errors.def"
#undef ETHOSUX_ERROR
};

static const struct {
    uint16_t bit;
    const char *words;
} status_bits[] = {
    {ETHOSUX_STATUS_BUS_ERROR, "bus error"},
    {ETHOSUX_STATUS_PARSE_ERROR, "command not understood"},
    {ETHOSUX_STATUS_WATCHDOG, "watchdog"},
    {ETHOSUX_STATUS_ECC, "memory error (ECC)"},
    {ETHOSUX_STATUS_BRANCH, "branch out of range"},
    {ETHOSUX_STATUS_RESETTING, "in reset"},
    {ETHOSUX_STATUS_RUNNING, "running"},
    {ETHOSUX_STATUS_END_REACHED, "end reached"},
};

/** STATUS.faulting_channel */
static const char *const channels[16] = {
    [0] = "command", [1] = "input feature map", [2] = "weight", [3] = "scale",
    [4] = "DMA source", [8] = "output feature map", [9] = "DMA destination",
};

/** Text under construction; counts on when the buffer is full. */
struct text {
    char *start;
    size_t size;
    size_t length;
};

int ethosux_refuse(struct ethosux_fault *fault, int code, int index, uint64_t found,
                   uint64_t expected)
{
    if (fault != NULL) {
        *fault = (struct ethosux_fault){
            .code = code, .index = index, .found = found, .expected = expected};
    }
    return code;
}

static unsigned error_index(int error)
{
    unsigned index = 0u - (unsigned)error;
    return index < sizeof errors / sizeof errors[0] ? index : 0;
}

int ethosux_errno(int error)
{
    return errors[error_index(error)].number;
}

static void put_char(struct text *text, char c)
{
    if (text->length + 1 < text->size) {
        text->start[text->length] = c;
    }
    text->length++;
}

static void put_string(struct text *text, const char *string)
{
    while (*string != '\0') {
        put_char(text, *string++);
    }
}

static void put_hex(struct text *text, uint64_t number)
{
    int shift = 60;
    while (shift > 0 && number >> shift == 0) {
        shift -= 4;
    }
    put_string(text, "0x");
    for (; shift >= 0; shift -= 4) {
        put_char(text, "0123456789abcdef"[number >> shift & 15]);
    }
}

/** Decimal; what needs more than 32 bits is hexadecimal, which spares a 64-bit division. */
static void put_number(struct text *text, uint64_t number)
{
    uint32_t rest = (uint32_t)number;
    uint32_t unit = 1;
    if (rest != number) {
        put_hex(text, number);
        return;
    }
    while (rest / unit >= 10) {
        unit *= 10;
    }
    for (; unit > 0; unit /= 10) {
        put_char(text, (char)('0' + rest / unit % 10));
    }
}

static void put_config(struct text *text, uint64_t config)
{
    char name[ETHOSUX_CONFIG_NAME_SIZE];
    ethosux_config_name((uint32_t)config, name);
    put_string(text, name);
}

static void put_status(struct text *text, uint32_t status)
{
    const char *separator = "";
    for (unsigned i = 0; i < sizeof status_bits / sizeof status_bits[0]; i++) {
        if (!(status & status_bits[i].bit)) {
            continue;
        }
        put_string(text, separator);
        put_string(text, status_bits[i].words);
        separator = ", ";
        const char *channel = channels[NPU_STATUS_CHANNEL(status)];
        if (status_bits[i].bit == ETHOSUX_STATUS_BUS_ERROR && channel != NULL) {
            put_string(text, " at ");
            put_string(text, channel);
            put_string(text, NPU_STATUS_INTERFACE(status) ? " on port M1" : " on port M0");
        }
    }
    put_string(text, " (STATUS ");
    put_hex(text, status);
    put_char(text, ')');
}

static void put_field(struct text *text, const struct ethosux_fault *fault, char field)
{
    switch (field) {
    case 'f':
        put_number(text, fault->found);
        break;
    case 'e':
        put_number(text, fault->expected);
        break;
    case 'F':
        put_hex(text, fault->found);
        break;
    case 'E':
        put_hex(text, fault->expected);
        break;
    case 'C':
        put_config(text, fault->found);
        break;
    case 'D':
        put_config(text, fault->expected);
        break;
    case 'i':
        put_number(text, (uint32_t)fault->index);
        break;
    case 'b':
        put_string(text, fault->index < 0 ? "command stream" : "base pointer ");
        if (fault->index >= 0) {
            put_number(text, (uint32_t)fault->index);
        }
        break;
    case 'r':
        put_number(text, fault->detail);
        break;
    default:
        put_status(text, fault->status);
        break;
    }
}

size_t ethosux_describe(const struct ethosux_fault *fault, char *text, size_t size)
{
    struct text out = {text, size, 0};
    for (const char *s = errors[error_index(fault->code)].sentence; *s != '\0'; s++) {
        if (*s == '%') {
            put_field(&out, fault, *++s);
        } else {
            put_char(&out, *s);
        }
    }
    if (size > 0) {
        text[out.length < size ? out.length : size - 1] = '\0';
    }
    return out.length;
}
