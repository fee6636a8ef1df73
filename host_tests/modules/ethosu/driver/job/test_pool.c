// SPDX-License-Identifier: MIT
/** Handles from init to deinit: reservation by kind and with a time-out, release, power. */
#include "board.h"

static struct ethosu_driver drivers[2];

/** Two NPUs of different configs, none reserved. */
static void two_npus(void)
{
    static const char *const configs[] = {"ethos-u55-256", "ethos-u55-128"};
    for (unsigned i = 0; i < 2; i++) {
        power_up(i, configs[i]);
        CHECK_EQ(ethosu_init(&drivers[i], &sim_host_npus[i], NULL, 0, 1, 1), 0);
        attach(i, &drivers[i]);
    }
}

TEST(init_rejects_an_address_without_an_npu)
{
    struct ethosu_driver drv;
    memset(&drv, 0xA5, sizeof drv);
    check_error(&drv, ethosu_init(&drv, NULL, NULL, 0, 1, 1), ETHOSU_EXT_E_ARGUMENT, "");
    CHECK_EQ(ethosu_init(NULL, &sim_host_npus[0], NULL, 0, 1, 1), -1);

    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), -1); // reads as zeros
    CHECK_EQ(ethosu_ext_last_error(&drv)->code, ETHOSU_EXT_E_NO_NPU);
    power_up(0, "ethos-u55-128");
    inject("dead", UINT32_MAX);
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), -1);
    CHECK_TEXT(error_text(&drv), "CONFIG 0xffffffff");
    inject("dead", 0);
    inject("reset-stuck", 1);
    check_error(&drv, ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 1, 1), ETHOSU_EXT_E_RESET, "");
    CHECK(ethosu_ext_next(NULL) == NULL);
}

TEST(init_sets_protection_and_limits)
{
    struct ethosu_driver drv;
    power_up(0, "ethos-u55-128");
    inject("reset-slow", 1);
    CHECK_EQ(ethosu_init(&drv, &sim_host_npus[0], NULL, 0, 0, 0), 0);
    CHECK_EQ(reg(0, NPU_PROT), 2); // non-secure user
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0), 0x0F1F0000);
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0 + 12), 0x0F1F0000);
    CHECK_EQ(reg(0, NPU_CMD), NPU_CMD_Q_BITS);
}

TEST(init_twice_is_one_driver)
{
    two_npus();
    CHECK_EQ(ethosu_init(&drivers[0], &sim_host_npus[0], NULL, 0, 1, 1), 0);
    unsigned count = 0;
    for (struct ethosu_driver *drv = ethosu_ext_next(NULL); drv != NULL;
         drv = ethosu_ext_next(drv)) {
        CHECK(++count <= 2);
    }
    CHECK_EQ(count, 2);
}

TEST(semaphores_that_run_out_are_an_error)
{
    static struct ethosu_driver many[12];
    unsigned made = 0;
    power_up(0, "ethos-u55-128");
    while (made < 12 && ethosu_init(&many[made], &sim_host_npus[0], NULL, 0, 1, 1) == 0) {
        made++;
    }
    CHECK_EQ(made, 9);
    CHECK_EQ(ethosu_ext_last_error(&many[made])->code, ETHOSU_EXT_E_NO_SEMAPHORE);
    ethosu_deinit(&many[0]);
    CHECK_EQ(ethosu_init(&many[0], &sim_host_npus[0], NULL, 0, 1, 1), 0);
    for (unsigned i = 0; i < made; i++) {
        CHECK(ethosu_ext_reserve(NULL, 0, NULL) != NULL);
    }
    struct ethosu_ext_fault fault;
    CHECK(ethosu_ext_reserve(NULL, 5, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_NO_SEMAPHORE);
}

static void release_after_a_minute(void)
{
    if (clock_ms >= 60000) {
        on_sleep = NULL;
        ethosu_release_driver(&drivers[0]);
    }
}

TEST(reserve_assigns_each_npu_once_and_then_waits)
{
    two_npus();
    struct ethosu_driver *a = ethosu_reserve_driver();
    struct ethosu_driver *b = ethosu_reserve_driver();
    CHECK(a != NULL && b != NULL && a != b);
    uint32_t start = clock_ms;
    CHECK(ethosu_ext_reserve(NULL, 10000, NULL) == NULL);
    CHECK_EQ(clock_ms - start, 10000);
    on_sleep = release_after_a_minute;
    CHECK(ethosu_reserve_driver() == &drivers[0]);
    CHECK(clock_ms >= 60000);
}

TEST(reserve_by_config_gives_that_config)
{
    struct ethosu_ext_fault fault;
    two_npus();
    CHECK(ethosu_ext_reserve("ethos-u55-128", 0, NULL) == &drivers[1]);
    CHECK(ethosu_ext_reserve("ethos-u55-128", 7, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_NONE_FREE);
    CHECK(ethosu_ext_reserve("ethos-u65-512", 7, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_NONE_SUCH);
    CHECK(ethosu_ext_reserve("ethos-u99", 7, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_ARGUMENT);
    CHECK_EQ(ethosu_ext_reserve_this(&drivers[0], 0), 0);
    CHECK_EQ(ethosu_ext_reserve_this(&drivers[0], 0), ETHOSU_EXT_E_NONE_FREE);
}

TEST(reserve_without_any_driver_is_an_error)
{
    struct ethosu_ext_fault fault;
    CHECK(ethosu_ext_reserve(NULL, 7, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_NONE_SUCH);
    CHECK(ethosu_reserve_driver() == NULL);
    CHECK_EQ(ethosu_invoke_v2(good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL, 0), -1);
}

static void release_second(void)
{
    on_sleep = NULL;
    ethosu_release_driver(&drivers[1]);
}

static void release_first(void)
{
    on_sleep = release_second;
    ethosu_release_driver(&drivers[0]);
}

/** A caller that waits for one config keeps waiting when an NPU with another config is released. */
TEST(a_release_goes_to_a_caller_that_can_use_it)
{
    two_npus();
    CHECK(ethosu_reserve_driver() != NULL);
    CHECK(ethosu_reserve_driver() != NULL);
    on_sleep = release_first;
    CHECK(ethosu_ext_reserve("ethos-u55-128", 100, NULL) == &drivers[1]);
    CHECK(drivers[1].reserved);
    CHECK(!drivers[0].reserved);
}

static void init_again(void)
{
    on_sleep = NULL;
    CHECK_EQ(ethosu_init(&drivers[0], &sim_host_npus[0], NULL, 0, 1, 1), 0);
}

static void deinit_first(void)
{
    on_sleep = NULL;
    ethosu_deinit(&drivers[0]);
}

TEST(deinit_ends_calls_that_wait_for_the_npu)
{
    struct ethosu_ext_fault fault;
    two_npus();
    CHECK(ethosu_ext_reserve("ethos-u55-256", 0, NULL) == &drivers[0]);
    on_sleep = deinit_first;
    CHECK(ethosu_ext_reserve("ethos-u55-256", ETHOSU_SEMAPHORE_WAIT_FOREVER, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_NONE_SUCH);
    CHECK(ethosu_ext_reserve("ethos-u55-128", 0, NULL) == &drivers[1]);
}

TEST(a_new_npu_goes_to_a_waiting_call)
{
    two_npus();
    CHECK(ethosu_ext_reserve("ethos-u55-256", 0, NULL) == &drivers[0]);
    on_sleep = init_again;
    CHECK(ethosu_ext_reserve("ethos-u55-256", 100, NULL) == &drivers[0]);
}

TEST(double_release_does_no_harm)
{
    two_npus();
    struct ethosu_driver *drv = ethosu_reserve_driver();
    ethosu_release_driver(drv);
    ethosu_release_driver(drv);
    ethosu_release_driver(NULL);
    CHECK(ethosu_reserve_driver() != ethosu_reserve_driver());
    CHECK(ethosu_ext_reserve(NULL, 0, NULL) == NULL);
}

static bool next_holds;
static bool released;

/** Release it twice, and let the next caller reserve it as soon as possible. */
static void release_twice_and_reserve(void)
{
    accesses_left = 0;
    if (!released && drivers[1].job.state == ETHOSU_JOB_IDLE) {
        accesses_left = 1; // the inference has not begun
    } else if (!next_holds) {
        for (int i = 0; i < 2 && !released; i++) {
            ethosu_release_driver(&drivers[1]);
        }
        released = true;
        next_holds = ethosu_ext_reserve_this(&drivers[1], 0) == 0;
        accesses_left = 1;
    }
}

/** Another thread releases the NPU at the Nth moment of an inference, and the next takes it. */
TEST(a_release_that_comes_late_leaves_the_npu_to_its_next_holder)
{
    uint8_t *memory = alloc(256);
    unsigned held = 0;
    for (unsigned at = 1; at < 60; at++) {
        two_npus();
        next_holds = released = false;
        npus[1].end = END_ON_SLEEP;
        good_payload[2] = drivers[1].dev.config_register;
        interfere = release_twice_and_reserve;
        accesses_left = at;
        good_bases[0] = good_bases[1] = good_bases[2] = (uintptr_t)memory;
        (void)ethosu_invoke_auto(good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3, NULL);
        accesses_left = 0;
        CHECK_EQ(drivers[1].reserved, next_holds);
        held += next_holds;
        ethosu_deinit(&drivers[0]);
        ethosu_deinit(&drivers[1]);
    }
    CHECK(held > 10);
}

static struct ethosu_driver *on_the_heap;

static void deinit_and_free(void)
{
    on_sleep = NULL;
    ethosu_deinit(on_the_heap);
    free(on_the_heap);
}

TEST(a_call_waiting_for_a_freed_handle_does_not_access_it)
{
    on_the_heap = malloc(sizeof *on_the_heap);
    power_up(0, "ethos-u55-256");
    CHECK_EQ(ethosu_init(on_the_heap, &sim_host_npus[0], NULL, 0, 1, 1), 0);
    CHECK_EQ(ethosu_ext_reserve_this(on_the_heap, 0), 0);
    on_sleep = deinit_and_free;
    CHECK_EQ(ethosu_ext_reserve_this(on_the_heap, ETHOSU_SEMAPHORE_WAIT_FOREVER),
             ETHOSU_EXT_E_NONE_SUCH);
}

static void init_that_fails(void)
{
    on_sleep = NULL;
    CHECK_EQ(ethosu_init(&drivers[0], NULL, NULL, 0, 1, 1), -1);
}

static void init_below_a_cancel(void)
{
    check_error(&drivers[0], ethosu_init(&drivers[0], &sim_host_npus[0], NULL, 0, 1, 1),
                ETHOSU_EXT_E_BUSY, "");
}

static void cancel_on_sleep(void)
{
    on_sleep = NULL;
    interfere = init_below_a_cancel;
    accesses_left = 1;
    CHECK_EQ(ethosu_ext_cancel(&drivers[0]), 0);
}

TEST(a_failed_init_ends_calls_that_wait_for_the_npu)
{
    static void (*const failures[])(void) = {init_that_fails, cancel_on_sleep};
    for (unsigned i = 0; i < 2; i++) {
        struct ethosu_ext_fault fault;
        two_npus();
        CHECK_EQ(ethosu_ext_reserve_this(&drivers[0], 0), 0);
        good_payload[2] = drivers[0].dev.config_register;
        start_endless(&drivers[0]);
        on_sleep = failures[i];
        CHECK(ethosu_ext_reserve("ethos-u55-256", 60000, &fault) == NULL);
        CHECK_EQ(fault.code, ETHOSU_EXT_E_NONE_SUCH);
        ethosu_deinit(&drivers[1]);
    }
}

DRIVER_TEST(deinit_of_a_reserved_running_driver_ends_everything, "ethos-u55-128")
{
    start_endless(drv);
    ethosu_deinit(drv);
    CHECK_EQ(begins, ends);
    CHECK(!is_running(0));
    CHECK(ethosu_ext_next(NULL) == NULL);
    CHECK_EQ(start_good(drv), -1);
    ethosu_deinit(drv);
    ethosu_release_driver(drv);
    CHECK(ethosu_ext_reserve(NULL, 0, NULL) == NULL);
}

DRIVER_TEST(a_second_init_ends_the_running_inference, "ethos-u55-128")
{
    start_endless(drv);
    CHECK_EQ(ethosu_init(drv, &sim_host_npus[0], NULL, 0, 1, 1), 0);
    CHECK_EQ(begins, ends);
    CHECK(!is_running(0));
}

TEST(two_npus_run_side_by_side_and_one_may_fail)
{
    two_npus();
    CHECK_EQ(ethosu_ext_reserve_this(&drivers[0], 0), 0);
    CHECK_EQ(ethosu_ext_reserve_this(&drivers[1], 0), 0);
    inject("bus-error", 1);
    for (unsigned i = 0; i < 2; i++) {
        npus[i].end = END_NEVER;
        good_payload[2] = drivers[i].dev.config_register;
        CHECK_EQ(start_good(&drivers[i]), 0);
    }
    complete(0);
    CHECK_EQ(ethosu_wait(&drivers[0], true), -1);
    CHECK_EQ(ethosu_wait(&drivers[1], false), 1);
    complete(1);
    CHECK_EQ(ethosu_wait(&drivers[1], true), 0);
    CHECK_EQ(begins, ends);
}

static int reentrant_result;

static void reserve_from_an_interrupt(void)
{
    on_sleep = NULL;
    reentrant_result = ethosu_ext_reserve_this(&drivers[0], 0);
}

TEST(a_reservation_during_a_wait_returns)
{
    two_npus();
    CHECK(ethosu_reserve_driver() != NULL);
    CHECK(ethosu_reserve_driver() != NULL);
    on_sleep = reserve_from_an_interrupt;
    CHECK(ethosu_ext_reserve(NULL, 5, NULL) == NULL);
    CHECK_EQ(reentrant_result, ETHOSU_EXT_E_NONE_FREE);
}

TEST(a_call_from_within_the_driver_is_refused_not_hung)
{
    two_npus();
    void *mutex = ethosu_mutex_create(); // the default has but one
    CHECK_EQ(ethosu_mutex_lock(mutex), 0);
    CHECK(ethosu_mutex_lock(mutex) < 0);
    struct ethosu_ext_fault fault;
    CHECK(ethosu_ext_reserve(NULL, 0, &fault) == NULL);
    CHECK_EQ(fault.code, ETHOSU_EXT_E_LOCKED);
    CHECK_EQ(ethosu_init(&(struct ethosu_driver){0}, &sim_host_npus[0], NULL, 0, 1, 1), -1);
    CHECK_EQ(ethosu_mutex_unlock(mutex), 0);
    ethosu_mutex_destroy(mutex);
    CHECK(ethosu_ext_reserve(NULL, 0, &fault) != NULL);
}

DRIVER_TEST(power_requests_are_counted, "ethos-u55-128")
{
    CHECK_EQ(ethosu_request_power(drv), 0);
    CHECK_EQ(ethosu_request_power(drv), 0);
    CHECK_EQ(reg(0, NPU_CMD), 0);
    CHECK_EQ(ethosu_soft_reset(drv), 0);
    CHECK_EQ(reg(0, NPU_CMD), 0); // a reset keeps the power as requested
    ethosu_release_power(drv);
    CHECK_EQ(reg(0, NPU_CMD), 0);
    ethosu_release_power(drv);
    CHECK_EQ(reg(0, NPU_CMD), NPU_CMD_Q_BITS);
    ethosu_release_power(drv);
    CHECK_EQ(drv->power_request_counter, 0);
    CHECK_EQ(ethosu_ext_last_error(drv)->code, ETHOSU_EXT_E_POWER_UNDERFLOW);
}

DRIVER_TEST(power_held_by_the_user_survives_an_inference, "ethos-u55-128")
{
    CHECK_EQ(ethosu_request_power(drv), 0);
    unsigned resets = npus[0].resets;
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(npus[0].resets, resets);
    CHECK_EQ(drv->power_request_counter, 1);
    CHECK_EQ(reg(0, NPU_CMD), 0);
}

TEST(version_and_hardware_are_reported)
{
    struct ethosu_driver_version version;
    struct ethosu_hw_info info;
    ethosu_get_driver_version(&version);
    CHECK_EQ(version.major, ETHOSU_DRIVER_VERSION_MAJOR);
    ethosu_get_hw_info(open_driver("ethos-u55-128"), &info);
    CHECK_EQ(info.cfg.macs_per_cc, 7);
    CHECK_EQ(info.cfg.cmd_stream_version, 0);
    CHECK_EQ(info.cfg.custom_dma, 0);
    CHECK_EQ(info.version.arch_major_rev, 1);
    CHECK_EQ(info.version.arch_minor_rev, 1);
    CHECK_EQ(info.version.arch_patch_rev, 0);
    CHECK_EQ(info.version.product_major, 4);
    CHECK_EQ(info.version.version_status, 1);
}

TEST(config_names_are_velas)
{
    static const char *const names[] = {
        "ethos-u55-32",  "ethos-u55-64",  "ethos-u55-128",  "ethos-u55-256",  "ethos-u65-256",
        "ethos-u65-512", "ethos-u85-128", "ethos-u85-1024", "ethos-u85-2048",
    };
    char name[ETHOSU_EXT_CONFIG_NAME_SIZE];
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint32_t config;
        CHECK(ethosu_ext_config_parse(names[i], &config));
        ethosu_ext_config_name(config, name);
        CHECK(strcmp(name, names[i]) == 0);
    }
    ethosu_ext_config_name(0x70000000, name);
    CHECK(strcmp(name, "unknown") == 0);
    ethosu_ext_config_name(0x2000000F, name);
    CHECK(strcmp(name, "ethos-u85-32768") == 0);
    CHECK(!ethosu_ext_config_parse("ethos-u55-12", &(uint32_t){0}));
}
