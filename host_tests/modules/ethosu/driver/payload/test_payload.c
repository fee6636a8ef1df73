// SPDX-License-Identifier: MIT
/**
 * Payload parsing: Vela's payloads are accepted, all others are rejected before any register
 * access.
 */
#include "board.h"

#define COP1 0x31504F43u
#define COP2 0x32504F43u

/** Parse a copy that ends with its allocation, so that ASan detects an over-read. */
static int parse(const uint32_t *words, size_t size, struct ethosu_ext_payload *payload,
                 struct ethosu_ext_fault *fault)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);
    memcpy(copy, words, size);
    int error = ethosu_ext_parse_payload(copy, size, payload, fault);
    if (error == 0) {
        CHECK(payload->stream >= copy);
        CHECK(payload->stream + payload->stream_bytes <= copy + size);
    }
    free(copy);
    return error;
}

static void check_refused(const uint32_t *words, size_t size, int code, const char *part)
{
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault = {0};
    CHECK_EQ(parse(words, size, &payload, &fault), code);
    CHECK_EQ(fault.code, code);
    char text[200];
    ethosu_ext_describe(&fault, text, sizeof text);
    CHECK_TEXT(text, part);
}

TEST(cop1_gives_config_and_stream)
{
    struct ethosu_ext_payload payload;
    CHECK_EQ(parse(good_payload, GOOD_PAYLOAD_SIZE, &payload, NULL), 0);
    CHECK(payload.has_config);
    CHECK_EQ(payload.config, 7);
    CHECK_EQ(payload.id, 0x10066001);
    CHECK_EQ(payload.stream_bytes, 4);
}

/** As Vela writes it: 1 KB of fast scratch, addresses of the whole network, two words of stream. */
static const uint32_t good_cop2[20] = {
    COP2,        1,           64, 0,    1, 56,  44,  0x4D554556u, 1,           20,
    0x10003008u, 0x10066001u, 1,  1024, 0, ~0u, ~0u, ~0u,         0x00000011u, 0xFFFF0000u};

TEST(cop2_gives_config_stream_and_fast_scratch)
{
    struct ethosu_ext_payload payload;
    struct ethosu_ext_fault fault = {0};
    CHECK_EQ(parse(good_cop2, sizeof good_cop2, &payload, &fault), 0);
    CHECK_EQ(payload.config, 0x10003008u);
    CHECK_EQ(payload.id, 0x10066001);
    CHECK_EQ(payload.stream_bytes, 8);
    CHECK_EQ(payload.fast_scratch, 1024);
}

TEST(each_field_of_cop2_is_checked)
{
    static const struct {
        uint32_t word;
        uint32_t value;
        int error;
        const char *part;
    } cases[] = {
        {1, 2, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x2 at byte 4, expected 0x1"},
        {2, 60, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x3c at byte 8, expected 0x40"},
        {3, 1, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x1 at byte 12, expected 0x0"},
        {4, 9, ETHOSU_EXT_E_PAYLOAD_ACTION, "unknown driver action 9 at byte 16"},
        {5, 60, ETHOSU_EXT_E_PAYLOAD_CUT, "inside the action at byte 16: 60 bytes needed, 56 left"},
        {5, 55, ETHOSU_EXT_E_PAYLOAD_FIELD, "at byte 24"},
        {5, 0, ETHOSU_EXT_E_PAYLOAD_FIELD, "at byte 24"},
        {6, 28, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x1c at byte 24"},
        {6, 45, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x2d at byte 24"},
        {6, 56, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x38 at byte 24, expected 0x34"},
        {6, 52, ETHOSU_EXT_E_PAYLOAD_EMPTY, "no command stream"},
        {7, 0x4D554557, ETHOSU_EXT_E_PAYLOAD_FIELD,
         "has 0x4d554557 at byte 28, expected 0x4d554556"},
        {8, 0x10001, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x10001 at byte 32, expected 0x1"},
        {9, 24, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x18 at byte 36, expected 0x14"},
        {12, 5, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x5 at byte 48, expected 0x1"},
        {14, 1, ETHOSU_EXT_E_PAYLOAD_FIELD, "has 0x1 at byte 56, expected 0x0"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t words[20];
        memcpy(words, good_cop2, sizeof words);
        words[cases[i].word] = cases[i].value;
        check_refused(words, sizeof words, cases[i].error, cases[i].part);
    }
}

/** Fast scratch is base pointer 2; a model that uses none needs no address there. */
TEST(fast_scratch_that_a_payload_states_must_be_given)
{
    uint32_t *words = alloc(sizeof good_cop2);
    uint8_t *memory = alloc(1024);
    struct ethosu_driver *drv = open_driver("ethos-u65-256");
    uint64_t bases[3] = {(uintptr_t)memory, (uintptr_t)memory, (uintptr_t)memory};
    size_t sizes[3] = {1024, 1024, 1024};
    memcpy(words, good_cop2, sizeof good_cop2);
    words[16] = 0xFFFF0000u; // a stream of one word that begins at byte 64
    words[2] = 52;
    words[5] = 44;
    words[6] = 36;
    CHECK_EQ(ethosu_invoke_v3(drv, words, 68, bases, sizes, 3, NULL), 0);
    sizes[2] = 1008;
    check_error(drv, ethosu_invoke_v3(drv, words, 68, bases, sizes, 3, NULL),
                ETHOSU_EXT_E_FAST_MEMORY, "1024 bytes of fast memory, 1008 available");
    CHECK_EQ(ethosu_invoke_v3(drv, words, 68, bases, sizes, 2, NULL), -1);
    words[13] = 0;
    bases[2] = 0;
    sizes[2] = 0;
    CHECK_EQ(ethosu_invoke_v3(drv, words, 68, bases, sizes, 3, NULL), 0);
}

/**
 * Every truncation of a valid payload is rejected, or gives a stream inside it; ASan checks the
 * reads.
 */
TEST(a_truncated_payload_is_never_read_past_its_end)
{
    struct ethosu_ext_payload payload;
    for (size_t size = 0; size < GOOD_PAYLOAD_SIZE; size++) {
        CHECK(parse(good_payload, size, &payload, NULL) < 0);
    }
    for (size_t size = 0; size < sizeof good_cop2; size++) {
        CHECK(parse(good_cop2, size, &payload, NULL) < 0);
    }
}

TEST(each_malformed_payload_has_its_own_reason)
{
    const uint32_t magic[] = {0x33334C54, 0};
    const uint32_t action[] = {COP1, 3};
    const uint32_t twice[] = {COP1, 0x00010002u, 0xFFFF0000u, 0x00010002u, 0xFFFF0000u};
    const uint32_t empty[] = {COP1, 5, 5};
    const uint32_t no_words[] = {COP1, 2};
    const uint32_t too_long[] = {COP1, 0xFFFFFF02u, 0xFFFF0000u};
    const uint32_t cut_config[] = {COP1, 1, 7};
    check_refused(magic, sizeof magic, ETHOSU_EXT_E_PAYLOAD_MAGIC, "0x33334c54");
    check_refused(magic, 7, ETHOSU_EXT_E_PAYLOAD_SIZE, "7 bytes");
    check_refused(action, sizeof action, ETHOSU_EXT_E_PAYLOAD_ACTION, "action 3 at byte 4");
    check_refused(twice, sizeof twice, ETHOSU_EXT_E_PAYLOAD_TWICE, "byte 12");
    check_refused(empty, sizeof empty, ETHOSU_EXT_E_PAYLOAD_EMPTY, "no command stream");
    check_refused(no_words, sizeof no_words, ETHOSU_EXT_E_PAYLOAD_EMPTY, "no command stream");
    check_refused(too_long, sizeof too_long, ETHOSU_EXT_E_PAYLOAD_CUT, "67108864 bytes needed, 8");
    check_refused(cut_config, sizeof cut_config, ETHOSU_EXT_E_PAYLOAD_CUT, "12 bytes needed, 8");

    struct ethosu_ext_payload payload;
    CHECK_EQ(ethosu_ext_parse_payload(NULL, 8, &payload, NULL), ETHOSU_EXT_E_ARGUMENT);
}

TEST(a_bad_action_after_the_stream_is_refused_before_the_npu_starts)
{
    uint32_t *words = alloc(48);
    memcpy(words, good_payload, GOOD_PAYLOAD_SIZE);
    words[9] = 0xFF;
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    uint64_t bases[1];
    size_t sizes[1];
    unsigned writes = npus[0].writes;
    CHECK_EQ(ethosu_invoke_v3(drv, words, 40, bases, sizes, 0, NULL), -1);
    CHECK_EQ(npus[0].writes, writes);
    CHECK_EQ(drv->power_request_counter, 0);
    CHECK_EQ(begins, 0);
}

DRIVER_TEST(a_model_for_another_npu_is_refused_with_both_names, "ethos-u55-256")
{
    check_error(drv, start_good(drv), ETHOSU_EXT_E_CONFIG_MISMATCH, "compiled for ethos-u55-128");
    CHECK_TEXT(error_text(drv), "NPU is ethos-u55-256");
}

/** Optimizer config words against a U55-128 of architecture 1.1.0. */
static int check_config(uint32_t config, uint32_t id)
{
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    good_payload[2] = config;
    good_payload[3] = id;
    int code = start_good(drv) == 0 ? 0 : ethosu_ext_last_error(drv)->code;
    ethosu_deinit(drv);
    return code;
}

TEST(config_fields_are_compared_as_the_hardware_needs)
{
    CHECK_EQ(check_config(0x00001807, 0x10060000), 0); // SHRAM size and patch don't matter
    CHECK_EQ(check_config(0x10000007, 0x10066001), ETHOSU_EXT_E_CONFIG_MISMATCH);
    CHECK_EQ(check_config(0x00000017, 0x10066001), ETHOSU_EXT_E_STREAM_VERSION);
    CHECK_EQ(check_config(0x08000007, 0x10066001), ETHOSU_EXT_E_CUSTOM_DMA);
    CHECK_EQ(check_config(0x00000007, 0x20066001), ETHOSU_EXT_E_ARCH_MISMATCH);
    CHECK_EQ(check_config(0x00000007, 0x10266001), ETHOSU_EXT_E_ARCH_MISMATCH);
}

TEST(a_payload_without_optimizer_config_runs)
{
    uint32_t *words = alloc(20);
    memcpy(words, (uint32_t[]){COP1, 5, 5, 0x00010002u, 0xFFFF0000u}, 20);
    struct ethosu_driver *drv = open_driver("ethos-u55-64");
    CHECK_EQ(ethosu_invoke_v3(drv, words, 20, NULL, NULL, 0, NULL), 0);
    CHECK_EQ(npus[0].runs, 1);
}
