// SPDX-License-Identifier: MIT
/** Error messages for faults, without the C library's printf. */
#include "ethosu_ext.h"
#include "driver/base/ethosu_fault.h"
#include "driver/base/ethosu_registers.h"
#include "driver/base/ethosu_text.h"

#include <string.h>

/* Phrases shared by several messages, encoded as the character with their number. */
#define AT_WORD "\1"
#define STREAM "\2"
#define LAYOUT "\3"
#define NPU "\4"
#define MODEL_NEEDS "\5"
#define PAYLOAD_HAS "\6"
#define NOT_ALIGNED "\7"
#define MEMORY_NPU_CANT "\10"

static const char phrases[] = "\0"
                              "command at word %i\0"
                              "command stream\0"
                              "tensor layout: \0"
                              "the NPU\0"
                              "model needs \0"
                              "payload has \0"
                              "%b is at %F, not aligned to %e bytes\0"
                              "%b, %e bytes at %F, is in memory that " NPU " can't ";

/** Concatenated in the order of their rows. */
static const char messages[] = "no error"
#define ETHOSU_EXT_ERROR(number, name, errno_name, message) "\0" message
#include "ethosu_errors.def"
#undef ETHOSU_EXT_ERROR
    ;

/** By bit of STATUS. */
static const char status_bits[] = "running\0" // 0
                                  "\0"
                                  "bus error\0" // 2
                                  "in reset\0"
                                  "command parse error\0" // 4
                                  "end reached\0"
                                  "\0"
                                  "watchdog\0"
                                  "memory error (ECC)\0" // 8
                                  "branch out of range";

#define STATUS_BITS 10u

/** By STATUS.faulting_channel; the others are consecutive and unnamed. */
static const char channels[] = "command\0"
                               "input feature map\0"
                               "weight\0"
                               "scale\0"
                               "DMA source\0\0\0\0"
                               "output feature map\0"
                               "DMA destination\0\0\0\0\0\0";

/** The string at an index of a list of concatenated strings. */
static const char *string_at(const char *list, unsigned index)
{
    for (; index > 0; index--) {
        list += strlen(list) + 1;
    }
    return list;
}

static const char *message_of(int error)
{
    return string_at(messages, ethosu_ext_error_row(error));
}

/** Numbers above 32 bits are printed in hexadecimal to avoid a 64-bit division. */
static void append_number(struct ethosu_text *text, uint64_t number, bool hexadecimal)
{
    if (hexadecimal || number > UINT32_MAX) {
        ethosu_ext_text_print(text, "0x");
        ethosu_ext_text_hex(text, number);
    } else {
        ethosu_ext_text_print(text, "%u", (unsigned)number);
    }
}

/** "ethos-u85-256", or its family: "U85". */
static void append_config(struct ethosu_text *text, uint64_t config, bool family)
{
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    ethosu_ext_config_name((uint32_t)config, name);
    if (family) { // "u85" of it
        name[sizeof "ethos-u85" - 1] = '\0';
        name[sizeof "ethos-" - 1] = 'U';
    }
    ethosu_ext_text_print(text, "%s", family ? name + sizeof "ethos-" - 1 : name);
}

static void append_status(struct ethosu_text *text, uint32_t status)
{
    const char *separator = "";
    for (unsigned bit = STATUS_BITS; bit-- > 0;) {
        const char *words = string_at(status_bits, bit);
        if (!(status >> bit & 1) || *words == '\0') {
            continue;
        }
        ethosu_ext_text_print(text, "%s%s", separator, words);
        separator = ", ";
        const char *channel = string_at(channels, NPU_STATUS_CHANNEL(status));
        if (1u << bit == ETHOSU_EXT_STATUS_BUS_ERROR && *channel != '\0') {
            ethosu_ext_text_print(text, " at %s on port M%u", channel,
                                  (unsigned)NPU_STATUS_INTERFACE(status));
        }
    }
    ethosu_ext_text_print(text, " (STATUS 0x%x)", (unsigned)status);
}

/** Print the value of a field; see ethosu_errors.def. */
static void append_field(struct ethosu_text *text, const struct ethosu_ext_fault *fault, char field)
{
    const bool expected = field == 'e' || field == 'E' || field == 'D';
    if (field == 's') {
        append_status(text, fault->status);
    } else if (field == 'r') {
        append_number(text, fault->detail, false);
    } else if (field == 'b' && fault->index < 0) {
        ethosu_ext_text_print(text, "%s", string_at(phrases, STREAM[0]));
    } else if (field == 'b' || field == 'i') {
        ethosu_ext_text_print(text, field == 'b' ? "base pointer %u" : "%u",
                              (unsigned)fault->index);
    } else if (field == 'C' || field == 'D' || field == 'u') {
        append_config(text, expected ? fault->expected : fault->found, field == 'u');
    } else {
        append_number(text, expected ? fault->expected : fault->found, field < 'a');
    }
}

/** Print a message or one of its phrases with the values of its fields. */
static void append_message(struct ethosu_text *text, const struct ethosu_ext_fault *fault,
                           const char *message)
{
    for (; *message != '\0'; message++) {
        if (*message == '%') {
            append_field(text, fault, *++message);
        } else if (*message < ' ') {
            append_message(text, fault, string_at(phrases, (unsigned)*message));
        } else {
            ethosu_ext_text_char(text, *message);
        }
    }
}

size_t ethosu_ext_describe(const struct ethosu_ext_fault *fault, char *text, size_t size)
{
    struct ethosu_text out = {text, size, 0};
    append_message(&out, fault, message_of(fault->code));
    return ethosu_ext_text_end(&out);
}
