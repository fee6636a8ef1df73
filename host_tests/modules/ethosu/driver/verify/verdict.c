// SPDX-License-Identifier: MIT
/**
 * Verifies the streams on standard input. Each is CONFIG, the number of regions and their sizes,
 * the number of words and the words, in hexadecimal. The verdict is one line:
 *
 *     CODE FOUND EXPECTED DETAIL INDEX START:END ... (of what each region is written) | SENTENCE
 */
#include "check.h"
#include "ethosu_ext.h"

#include <inttypes.h>

static bool read_number(uint64_t *number)
{
    return scanf("%" SCNx64, number) == 1;
}

static uint64_t number(void)
{
    uint64_t value = 0;
    CHECK(read_number(&value));
    return value;
}

static void answer(uint32_t config)
{
    size_t sizes[ETHOSU_EXT_MAX_BASES];
    const int regions = (int)number();
    CHECK(regions <= ETHOSU_EXT_MAX_BASES);
    for (int i = 0; i < regions; i++) {
        sizes[i] = number();
    }
    const size_t bytes = 4 * number();
    uint32_t *words = malloc(bytes + (bytes == 0)); // exactly: ASan sees a read past its end
    for (size_t i = 0; i < bytes / 4; i++) {
        words[i] = (uint32_t)number();
    }
    struct ethosu_ext_fault fault = {0};
    struct ethosu_ext_writes writes = {0};
    int error = ethosu_ext_verify(words, bytes, config, sizes, regions, &writes, &fault);
    CHECK_EQ(fault.code, error);
    CHECK_EQ(ethosu_ext_verify(words, bytes, config, sizes, regions, NULL, NULL), error);
    free(words);

    printf("%d %" PRId64 " %" PRId64 " %u %d", error, (int64_t)fault.found, (int64_t)fault.expected,
           (unsigned)fault.detail, fault.index);
    for (int i = 0; i < ETHOSU_EXT_MAX_BASES; i++) {
        printf(" %" PRIu64 ":%" PRIu64, (uint64_t)writes.start[i], (uint64_t)writes.end[i]);
    }
    char message[200];
    ethosu_ext_describe(&fault, message, sizeof message);
    printf(" | %s\n", message);
    (void)fflush(stdout);
}

int main(void)
{
    uint64_t config;
    while (read_number(&config)) {
        answer((uint32_t)config);
    }
    return 0;
}
