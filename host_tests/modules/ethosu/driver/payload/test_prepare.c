// SPDX-License-Identifier: MIT
/** Checks before the first register is written: alignment, placement, sizes, arguments. */
#include "board.h"
#include "driver/base/ethosu_text.h"

#define MEMORY_SIZE 1024
static uint8_t *memory;
static struct ethosu_ext_program program;

__attribute__((constructor)) static void make_memory(void)
{
    memory = alloc(MEMORY_SIZE);
}

/** A copy of words in memory that the NPUs see. */
static uint32_t *placed(const uint32_t *words, size_t size)
{
    return memcpy(alloc(size), words, size);
}

static int prepare(struct ethosu_driver *drv, const uint64_t *bases, const size_t *sizes, int count)
{
    unsigned accesses = npus[0].accesses;
    int error =
        ethosu_ext_prepare(drv, &program, good_payload, GOOD_PAYLOAD_SIZE, bases, sizes, count, 0);
    CHECK_EQ(npus[0].accesses, accesses); // reads nothing, writes nothing
    CHECK_EQ(program.owner == NULL, error != 0);
    return error;
}

static void check_refused(struct ethosu_driver *drv, int error, int code, int index,
                          const char *text)
{
    CHECK_EQ(error, code);
    CHECK_EQ(ethosu_ext_last_error(drv)->index, index);
    CHECK_TEXT(error_text(drv), text);
}

DRIVER_TEST(a_misaligned_base_is_named_with_its_address, "ethos-u55-128")
{
    uint64_t bases[3] = {(uintptr_t)memory + 8, (uintptr_t)memory, (uintptr_t)memory};
    size_t sizes[3] = {16, 16, 16};
    char address[64];
    snprintf(address, sizeof address, "base pointer 0 is at 0x%llx", (unsigned long long)bases[0]);
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_BASE_ALIGNMENT, 0, address);
    CHECK_TEXT(error_text(drv), "not aligned to 16");
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_BASE_ALIGNMENT), ETHOSU_EXT_EINVAL);
}

DRIVER_TEST(a_misaligned_command_stream_is_named, "ethos-u55-128")
{
    memcpy(memory + 4, good_payload, GOOD_PAYLOAD_SIZE);
    int error = ethosu_ext_prepare(drv, &program, memory + 4, GOOD_PAYLOAD_SIZE, NULL, NULL, 0, 0);
    check_refused(drv, error, ETHOSU_EXT_E_STREAM_ALIGNMENT, -1, "command stream is at 0x");
}

DRIVER_TEST(memory_that_the_npu_cannot_see_is_efault, "ethos-u55-128")
{
    uint64_t bases[3] = {(uintptr_t)memory, (uintptr_t)memory + 512, 0};
    size_t sizes[3] = {16, 256, 0};
    memories[0] =
        (struct ethosu_memory){"low", memory, memory + 512, .masters = ETHOSU_MASTERS_ALL};
    memories[1] = (struct ethosu_memory){"rom", good_payload, (uint8_t *)good_payload + 64,
                                         .masters = ETHOSU_MASTERS_READ};
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_NOT_REACHABLE, 1,
                  "base pointer 1, 256 bytes at");
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_NOT_REACHABLE), ETHOSU_EXT_EFAULT);

    bases[1] = (uintptr_t)memory + 256;
    CHECK_EQ(prepare(drv, bases, sizes, 3), 0);
    sizes[1] = 257; // one byte over the end
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_NOT_REACHABLE, 1, "257 bytes");
    sizes[1] = SIZE_MAX; // wraps around
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_NOT_REACHABLE, 1, "bytes at");

    sizes[1] = 16;
    memories[0].masters = ETHOSU_MASTERS_READ;
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_NOT_WRITABLE, 1, "can't write");
    memories[1].end = (uint8_t *)good_payload + 8;
    check_refused(drv, prepare(drv, bases, sizes, 3), ETHOSU_EXT_E_NOT_REACHABLE, -1,
                  "command stream, 4 bytes at");
}

/** COP1 with 10 words of stream, which write 16 bytes to region 0, at the offset in word 9. */
static const uint32_t writer[] = {
    0x31504F43u, 5,       5, 0x000A0002u, 0x00010130u, 0x00000131u, 0x4030u,
    0,           0x4031u, 0, 0x4032u,     16,          0x010u,      0xFFFF0000u,
};

/** Prepare it; region 0 is the memory at its begin, region 1 other memory. */
static int prepare_writer(struct ethosu_driver *drv, const void *payload, size_t size,
                          unsigned flags)
{
    const uint64_t bases[2] = {(uintptr_t)memory, (uintptr_t)memory + 512};
    const size_t sizes[2] = {size, 32};
    return ethosu_ext_prepare(drv, &program, payload, sizeof writer, bases, sizes, 2, flags);
}

/** Otherwise unverified commands would run. */
DRIVER_TEST(a_stream_that_writes_itself_is_refused, "ethos-u65-256")
{
    static const uint32_t apart[] = {0, 128, 144, 240};
    static const uint32_t overlapping[] = {1, 16, 32, 55};
    uint32_t *payload = memcpy(memory + 64, writer, sizeof writer); // commands: bytes 80 to 119
    for (size_t i = 0; i < 4; i++) {
        payload[9] = apart[i];
        CHECK_EQ(prepare_writer(drv, payload, 256, 0), 0);
        payload[9] = 64 + overlapping[i];
        check_refused(drv, prepare_writer(drv, payload, 256, 0), ETHOSU_EXT_E_STREAM_WRITTEN, 0,
                      "overwrites itself");
        CHECK_EQ(prepare_writer(drv, payload, 256, ETHOSU_EXT_NO_VERIFY), 0);
    }
}

/** On U55, region 0 is always read-only. */
DRIVER_TEST(a_stream_that_writes_read_only_memory_is_refused, "ethos-u65-256")
{
    const uint32_t *words = placed(writer, sizeof writer);
    memories[0] =
        (struct ethosu_memory){"rom", memory, memory + 512, .masters = ETHOSU_MASTERS_READ};
    memories[1] = (struct ethosu_memory){
        .name = "ram", .end = (void *)UINTPTR_MAX, .masters = ETHOSU_MASTERS_ALL};
    check_refused(drv, prepare_writer(drv, words, 32, 0), ETHOSU_EXT_E_NOT_WRITABLE, 0,
                  "base pointer 0");
    CHECK_EQ(prepare_writer(drv, words, 32, ETHOSU_EXT_NO_VERIFY), 0);
    memories[0].masters = ETHOSU_MASTERS_ALL;
    CHECK_EQ(prepare_writer(drv, words, 32, 0), 0);
    check_refused(drv, prepare_writer(drv, words, 32, ETHOSU_EXT_CONSTANTS),
                  ETHOSU_EXT_E_CONSTANTS_WRITTEN, 0, "writes to the constants at base pointer 0");

    // A stream that was verified earlier writes other memory of the same size now.
    uint64_t bases[2] = {(uintptr_t)memory, (uintptr_t)memory + 512};
    size_t sizes[2] = {32, 32};
    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof writer, bases, sizes, 2, NULL), 0);
    memories[0] =
        (struct ethosu_memory){"rom", memory + 256, memory + 512, .masters = ETHOSU_MASTERS_READ};
    bases[0] += 256;
    check_error(drv, ethosu_invoke_v3(drv, words, sizeof writer, bases, sizes, 2, NULL),
                ETHOSU_EXT_E_NOT_WRITABLE, "base pointer 0");
}

DRIVER_TEST(the_boards_port_becomes_the_regions_attribute, "ethos-u55-128")
{
    uint64_t bases[3] = {(uintptr_t)memory, (uintptr_t)memory + 512, (uintptr_t)memory + 512};
    size_t sizes[3] = {16, 16, 16};
    memories[0] = (struct ethosu_memory){"m1", memory, memory + 512, .masters = ETHOSU_MASTERS_READ,
                                         .port = ETHOSU_PORT_2};
    memories[1] = (struct ethosu_memory){
        .name = "m0", .end = (void *)UINTPTR_MAX, .masters = ETHOSU_MASTERS_ALL};
    CHECK_EQ(prepare(drv, bases, sizes, 3), 0);
    CHECK_EQ(program.regioncfg, 2 | 0 << 2 | 1 << 4);
}

DRIVER_TEST(an_address_that_the_bus_lacks_is_refused, "ethos-u55-128")
{
    bus_offset = UINT64_C(1) << 32;
    check_error(drv, start_good(drv), ETHOSU_EXT_E_ADDRESS_WIDTH, "last address 0xffffffff");
    ethosu_deinit(drv);

    drv = open_driver("ethos-u65-256"); // has 40 bits
    good_payload[2] = drv->dev.config_register;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(reg(0, NPU_QBASE + 4), 1);
    CHECK_EQ(reg(0, NPU_BASEP0 + 4), 1);
    CHECK_EQ(reg(0, NPU_REGIONCFG), 0x1B);
    CHECK_EQ(ethosu_wait(drv, true), -1); // nothing is there
}

DRIVER_TEST(arguments_are_checked, "ethos-u55-128")
{
    uint64_t bases[9] = {0};
    size_t sizes[9] = {0};
    CHECK_EQ(prepare(drv, bases, sizes, 9), ETHOSU_EXT_E_BASE_COUNT);
    CHECK_EQ(prepare(drv, bases, sizes, -1), ETHOSU_EXT_E_BASE_COUNT);
    CHECK_EQ(prepare(drv, NULL, sizes, 1), ETHOSU_EXT_E_ARGUMENT);
    CHECK_EQ(prepare(drv, bases, NULL, 1), ETHOSU_EXT_E_ARGUMENT);
    CHECK_EQ(prepare(drv, bases, sizes, 8), 0); // regions of 0 bytes: none
    CHECK_EQ(ethosu_ext_prepare(drv, &program, good_payload, 4, bases, sizes, 8, 0),
             ETHOSU_EXT_E_PAYLOAD_SIZE);
    CHECK(program.owner == NULL);
    check_error(drv, ethosu_invoke_async(drv, good_payload, -4, bases, sizes, 0, NULL),
                ETHOSU_EXT_E_PAYLOAD_SIZE, "");
    drv->dev.part = NULL;
    CHECK_EQ(prepare(drv, bases, sizes, 0), ETHOSU_EXT_E_NO_NPU);
}

TEST(fast_memory_replaces_base_2)
{
    static struct ethosu_driver drv;
    power_up(0, "ethos-u55-128");
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], memory, 128, 1, 1), 0);
    attach(0, &drv);
    CHECK(ethosu_reserve_driver() == &drv);
    CHECK_EQ(start_good(&drv), 0);
    CHECK_EQ(reg(0, NPU_BASEP0 + 16), bus_address(memory));
    CHECK(good_bases[2] != (uintptr_t)memory); // the caller's array stays as it is
    CHECK_EQ(ethosu_wait(&drv, true), 0);

    good_sizes[2] = 129;
    CHECK_EQ(start_good(&drv), -1);
    CHECK_TEXT(error_text(&drv), "needs 129 bytes of fast memory, 128 available");
}

TEST(verifying_can_be_switched_off_and_is_done_once_per_stream)
{
    static const uint32_t good[] = {0x31504F43u, 5, 5, 0x00020002u, 0x000u, 0x3FFu};
    uint32_t *words = placed(good, sizeof good);
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    words[4] = 0x3FF; // unknown
    check_error(drv, ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL),
                ETHOSU_EXT_E_COMMAND_UNKNOWN, "");
    CHECK_EQ(npus[0].runs, 0);
    ethosu_ext_set_verify(drv, false);
    check_error(drv, ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL),
                ETHOSU_EXT_E_NPU_FAULT, "command parse error"); // it was started
    ethosu_ext_set_verify(drv, true);
    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL), -1);
    words[4] = 0;
    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL), 0);

    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL), 0);
    words[4] = 0x3FF; // another stream than the verified one, at the same address
    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL), -1);
    words[4] = 0;
    CHECK_EQ(ethosu_invoke_v3(drv, words, sizeof good, NULL, NULL, 0, NULL), 0);
}

#define PAYLOADS ETHOSU_EXT_STREAMS
static uint32_t (*constant)[8];

/** Payloads of one STOP, followed by a word that is not reached. */
static void make_constant(void)
{
    constant = alloc((PAYLOADS + 1) * sizeof *constant);
    for (unsigned i = 0; i <= PAYLOADS; i++) {
        memcpy(constant[i], (uint32_t[]){0x31504F43u, 5, 5, 0x00020002u, 0x000u, 0xFFFF0000u}, 24);
    }
}

static int run_payload(struct ethosu_driver *drv, unsigned which, uint64_t scratch, size_t size)
{
    uint64_t bases[2] = {(uintptr_t)memory, scratch};
    size_t sizes[2] = {16, size};
    return ethosu_invoke_v3(drv, constant[which], 6 * sizeof(uint32_t), bases, sizes, 2, NULL);
}

/**
 * Run a payload of constant memory after its command was made unknown.
 *
 * @return  -1 if the verifier detected it, 0 if only the NPU did
 */
static int run_spoilt(struct ethosu_driver *drv, unsigned which, uint64_t scratch, size_t size)
{
    constant[which][4] = 0x3FF;
    CHECK_EQ(run_payload(drv, which, scratch, size), -1);
    constant[which][4] = 0;
    int code = ethosu_ext_last_error(drv)->code;
    CHECK(code == ETHOSU_EXT_E_COMMAND_UNKNOWN || code == ETHOSU_EXT_E_NPU_FAULT);
    return code == ETHOSU_EXT_E_COMMAND_UNKNOWN ? -1 : 0;
}

static int run_constant(struct ethosu_driver *drv, unsigned which)
{
    return run_payload(drv, which, (uintptr_t)memory + 256, 64);
}

static uint32_t second_base;

static void note_second_base(const struct sim_host_access *access)
{
    second_base = access->offset == NPU_BASEP0 + 8 ? access->value : second_base;
}

DRIVER_TEST(a_verified_payload_in_constant_memory_is_not_checked_again, "ethos-u55-128")
{
    const uint64_t scratch = (uintptr_t)memory + 256;
    make_constant();
    memories[0] = (struct ethosu_memory){"rom", constant, constant + PAYLOADS + 1,
                                         .masters = ETHOSU_MASTERS_READ, .cpu = ETHOSU_CPU_CODE};
    memories[1] = (struct ethosu_memory){
        .name = "ram", .start = memory, .end = memory + MEMORY_SIZE, .masters = ETHOSU_MASTERS_ALL};
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), -1); // never seen
    for (unsigned i = 0; i < PAYLOADS; i++) {
        CHECK_EQ(run_constant(drv, i), 0);
    }
    ethosu_release_driver(drv);
    CHECK(ethosu_reserve_driver() == drv);
    for (unsigned i = 0; i < PAYLOADS; i++) {
        CHECK_EQ(run_spoilt(drv, i, scratch, 64), 0);
    }
    on_access = note_second_base;
    CHECK_EQ(run_spoilt(drv, 0, scratch + 64, 64), 0); // its bases may move,
    CHECK_EQ(second_base, bus_address(memory + 256 + 64));
    CHECK_EQ(run_spoilt(drv, 0, scratch, 128), -1); // but not grow or shrink
    CHECK_EQ(run_constant(drv, 0), 0);
    CHECK_EQ(run_constant(drv, PAYLOADS), 0); // takes the place of another
    CHECK_EQ(run_spoilt(drv, PAYLOADS, scratch, 64), 0);

    memories[0].masters |= ETHOSU_DMA_WRITES; // is not constant, but was recorded as such
    CHECK_EQ(run_spoilt(drv, PAYLOADS, scratch, 64), 0);
    ethosu_ext_forget(drv);
    CHECK_EQ(run_spoilt(drv, PAYLOADS, scratch, 64), -1);
    CHECK_EQ(run_constant(drv, PAYLOADS), 0);
    CHECK_EQ(run_spoilt(drv, PAYLOADS, scratch, 64), -1);
}

DRIVER_TEST(a_payload_declared_constant_is_not_checked_again, "ethos-u55-128")
{
    const uint64_t scratch = (uintptr_t)memory + 256;
    make_constant();
    CHECK_EQ(run_constant(drv, 0), 0);
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), -1); // no memory is said to be constant
    ethosu_ext_set_constant_payloads(drv, true);
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), -1); // never seen since
    CHECK_EQ(run_constant(drv, 0), 0);
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), 0);
    ethosu_ext_forget(drv);
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), -1);
    CHECK_EQ(run_constant(drv, 0), 0);
    ethosu_ext_set_constant_payloads(drv, false);
    CHECK_EQ(run_constant(drv, 0), 0);
    CHECK_EQ(run_spoilt(drv, 0, scratch, 64), -1);
}

DRIVER_TEST(invoke_v2_and_the_macro_run, "ethos-u55-128")
{
    CHECK_EQ(ethosu_invoke(drv, good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL, 0), 0);
    ethosu_release_driver(drv);
    CHECK_EQ(ethosu_invoke_v2(good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL, 0), 0);
    CHECK_EQ(npus[0].runs, 2);
    CHECK(!drv->reserved);
}

TEST(the_status_of_a_failed_npu_is_described)
{
    static const struct {
        uint32_t status;
        const char *words;
    } cases[] = {
        {ETHOSU_EXT_STATUS_BUS_ERROR | 2u << 12 | 1u << 11, "bus error at weight on port M1"},
        {ETHOSU_EXT_STATUS_BUS_ERROR | 8u << 12, "bus error at output feature map on port M0"},
        {ETHOSU_EXT_STATUS_BUS_ERROR | 15u << 12, "bus error (STATUS"},
        {ETHOSU_EXT_STATUS_PARSE_ERROR, "command parse error"},
        {ETHOSU_EXT_STATUS_WATCHDOG, "watchdog"},
        {ETHOSU_EXT_STATUS_BRANCH, "branch"},
        {ETHOSU_EXT_STATUS_ECC, "ECC"},
        {ETHOSU_EXT_STATUS_ECC | ETHOSU_EXT_STATUS_END_REACHED, "ECC), end reached"},
        {0, "byte 12 of the command stream"},
    };
    char text[200];
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ethosu_ext_fault fault = {
            .code = ETHOSU_EXT_E_NPU_FAULT, .status = cases[i].status, .qread = 12, .index = 12};
        ethosu_ext_describe(&fault, text, sizeof text);
        CHECK_TEXT(text, cases[i].words);
    }
}

TEST(a_text_is_printed_as_printf_does_it)
{
    char found[64], expected[64], cut[6];
    const int number = -2147483647 - 1;
    struct ethosu_text text = {found, sizeof found, 0};
    ethosu_ext_text_print(&text, "%s|%.*s|%d|%d|%u|%x", "ab", 2, "cde", number, 7, 4294967295u,
                          0xBEu);
    snprintf(expected, sizeof expected, "%s|%.*s|%d|%d|%u|%x", "ab", 2, "cde", number, 7,
             4294967295u, 0xBEu);
    CHECK_EQ(ethosu_ext_text_end(&text), strlen(expected));
    CHECK(strcmp(found, expected) == 0);

    text = (struct ethosu_text){cut, sizeof cut, 0};
    ethosu_ext_text_print(&text, "%s",
                          "a\x7F\n\xE9"
                          "bcd"); // unprintable, and too long
    CHECK_EQ(ethosu_ext_text_end(&text), 7);
    CHECK(strcmp(cut, "a???b") == 0);
}

TEST(every_error_has_a_message_and_an_errno)
{
    char text[200];
    for (int code = -1; code >= ETHOSU_EXT_E_OTHER_PRODUCT; code--) {
        struct ethosu_ext_fault fault = {.code = code, .found = 7, .expected = 9};
        size_t length = ethosu_ext_describe(&fault, text, sizeof text);
        CHECK(length > 10 && length == strlen(text));
        CHECK(strchr(text, '%') == NULL);
        CHECK(ethosu_ext_errno(code) > 0);
        CHECK_EQ(ethosu_ext_describe(&fault, NULL, 0), length);
        char cut[8];
        CHECK_EQ(ethosu_ext_describe(&fault, cut, sizeof cut), length);
        CHECK_EQ(strlen(cut), 7);
    }
    struct ethosu_ext_fault none = {0};
    ethosu_ext_describe(&none, text, sizeof text);
    CHECK(strcmp(text, "no error") == 0);
    CHECK_EQ(ethosu_ext_errno(0), 0);
    CHECK_EQ(ethosu_ext_errno(-1000), 0);
    none = (struct ethosu_ext_fault){.code = ETHOSU_EXT_E_PAYLOAD_SIZE, .found = UINT64_C(1) << 40};
    ethosu_ext_describe(&none, text, sizeof text);
    CHECK_TEXT(text, "0x10000000000 bytes");
}
