// SPDX-License-Identifier: MIT
/**
 * An application linked with the driver as an ordinary static archive. `archive CONFIG` opens that
 * NPU, verifies a valid and an invalid stream, and runs one without verification. Each line shows
 * the driver's result.
 */
#include "board.h"

static struct ethosu_driver driver;
static struct ethosu_ext_program program;

static void answer(const char *what)
{
    printf("%s: %s\n", what, error_text(&driver));
    driver.fault = (struct ethosu_ext_fault){0};
}

static void prepare(const char *what, uint32_t last_word, unsigned flags)
{
    good_payload[8] = last_word;
    (void)ethosu_ext_prepare(&driver, &program, good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL, 0,
                             flags);
    answer(what);
}

int main(int argc, char **argv)
{
    CHECK_EQ(argc, 2);
    power_up(0, argv[1]);
    attach(0, &driver);
    int error = ethosu_init(&driver, &sim_host_npus[0], NULL, 0, 1, 1);
    answer("init");
    if (error != 0) {
        return 0;
    }
    good_payload[1] = 5; // instead of the config, so that the stream runs on any NPU
    good_payload[2] = 5;
    good_payload[3] = 5;
    const uint32_t stop = good_payload[8];
    prepare("stream", stop, 0);
    prepare("nonsense", 0xFFFF3FFF, 0);
    prepare("unchecked", stop, ETHOSU_EXT_NO_VERIFY);
    CHECK(ethosu_reserve_driver() == &driver);
    ethosu_ext_set_verify(&driver, true);
    (void)ethosu_invoke_v3(&driver, good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL, 0, NULL);
    answer("invoke");
    return 0;
}
