// SPDX-License-Identifier: MIT
/** One inference, with all possible outcomes; a naive driver would fail each of these tests. */
#include "board.h"

DRIVER_TEST(an_inference_runs_and_registers_hold_what_it_needs, "ethos-u55-128")
{
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(reg(0, NPU_QBASE), bus_address(good_payload) + 32);
    CHECK_EQ(reg(0, NPU_QSIZE), 4);
    CHECK_EQ(reg(0, NPU_QCONFIG), 2);
    CHECK_EQ(reg(0, NPU_REGIONCFG), 0x13);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(reg(0, NPU_BASEP0 + 8 * i), bus_address((void *)(uintptr_t)good_bases[i]));
    }
    CHECK_EQ(ethosu_wait(drv, true), 0);
    check_clean(drv);
}

DRIVER_TEST(the_order_is_flush_begin_run_invalidate_end, "ethos-u55-128")
{
    ethosu_set_basep_cache_mask(drv, 0, 2);
    CHECK_EQ(run_good(drv), 0);
    CHECK(strcmp(trace, "ffffbRie") == 0); // what is cleaned once, then scratch
}

/** If the NPU was switched off between inferences, it is set up again. */
DRIVER_TEST(lost_power_is_detected_and_the_npu_reset, "ethos-u55-128")
{
    inject("power-lost", UINT32_MAX);
    check_next_works(drv);
    CHECK_EQ(npus[0].resets, 1); // that of init: the power was still on
    trace[0] = '\0';
    check_next_works(drv);
    CHECK(strcmp(trace, "ffXbRe") == 0);
    check_next_works(drv);
    CHECK_EQ(npus[0].resets, 3);
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0), 0); // lost again

    inject("power-lost", 0);
    check_next_works(drv);
    set_reg(0, NPU_RESET, 0); // by another master: not privileged
    check_next_works(drv);
    *storage(0, NPU_STATUS) |= ETHOSU_EXT_STATUS_PARSE_ERROR;
    check_next_works(drv);
    CHECK_EQ(npus[0].resets, 6);
}

DRIVER_TEST(a_failed_npu_is_stopped_before_caches_are_dropped_and_end_is_called, "ethos-u55-128")
{
    npus[0].end = END_NEVER;
    ethosu_set_basep_cache_mask(drv, 0, 2);
    CHECK_EQ(run_good(drv), -1);
    CHECK(strcmp(trace, "ffffbRXie") == 0);
}

DRIVER_TEST(the_time_out_is_on_by_default_and_honoured, "ethos-u55-128")
{
    npus[0].end = END_NEVER;
    uint32_t start = clock_ms;
    check_error(drv, run_good(drv), ETHOSU_EXT_E_TIMEOUT, "10000 ms: running");
    CHECK_EQ(clock_ms - start, ETHOSU_SEMAPHORE_WAIT_INFERENCE);
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_TIMEOUT), ETHOSU_EXT_ETIMEDOUT);
    check_next_works(drv);
}

DRIVER_TEST(the_time_out_can_be_set_and_survives_the_clock_wrapping, "ethos-u55-128")
{
    npus[0].end = END_NEVER;
    clock_ms = UINT32_MAX - 5;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(ethosu_ext_wait(drv, 20), -1);
    CHECK_EQ(clock_ms, 14);
    ethosu_ext_set_timeout(drv, 3);
    CHECK_EQ(run_good(drv), -1);
    CHECK_EQ(clock_ms, 17);
    check_next_works(drv);
}

DRIVER_TEST(facts_about_a_handle, "ethos-u55-128")
{
    uint32_t config;
    CHECK(ethosu_ext_config_parse("ethos-u55-128", &config));
    CHECK_EQ(ethosu_ext_config(drv) & 0xF000000Fu, config);
    CHECK(ethosu_ext_last_program(drv) == NULL);
    CHECK(!ethosu_ext_is_running(drv));
    start_endless(drv);
    CHECK(ethosu_ext_is_running(drv));
    const struct ethosu_ext_program *running = ethosu_ext_last_program(drv);
    CHECK(running != NULL && running->owner == drv);
    CHECK_EQ(ethosu_ext_wait(drv, 5), -1);
    CHECK(!ethosu_ext_is_running(drv));
    CHECK(ethosu_ext_last_program(drv) == running);
    ethosu_irq_handler(drv);
    struct ethosu_ext_counts counts;
    ethosu_ext_get_counts(drv, &counts);
    CHECK_EQ(counts.timeouts, 1);
    CHECK_EQ(counts.resets, drv->resets);
    CHECK_EQ(counts.spurious, 1);
    CHECK_EQ(drv->job.state, ETHOSU_JOB_IDLE);
    check_next_works(drv);
}

TEST(an_unknown_command_is_reported_with_its_offset)
{
    uint32_t *words = alloc(64);
    memcpy(words, (uint32_t[]){0x31504F43u, 5, 5, 0x00030002u, 0, 0x3FF, 0}, 28);
    words[4] = 0x0012; // NPU_OP_KERNEL_WAIT
    struct ethosu_driver *drv = open_driver("ethos-u55-128");
    ethosu_ext_set_verify(drv, false);
    check_error(drv, ethosu_invoke_v3(drv, words, 28, NULL, NULL, 0, NULL), ETHOSU_EXT_E_NPU_FAULT,
                "byte 4 of the command stream: command parse error");
    CHECK_EQ(ethosu_ext_last_error(drv)->qread, 4);
    check_next_works(drv);
}

DRIVER_TEST(the_callers_base_arrays_are_copied, "ethos-u55-128")
{
    ethosu_set_basep_cache_mask(drv, 0, 2);
    CHECK_EQ(start_good(drv), 0);
    memset(good_bases, 0xEE, sizeof good_bases);
    size_t kept = good_sizes[1];
    good_sizes[1] = 1;
    CHECK_EQ(ethosu_wait(drv, true), 0);
    CHECK_EQ(invalidated.size[0], kept);
    good_sizes[1] = kept;
}

DRIVER_TEST(masked_bases_are_also_cleaned_and_invalidated_at_each_run, "ethos-u55-128")
{
    ethosu_set_basep_cache_mask(drv, 0x05, 0x04);
    CHECK_EQ(run_good(drv), 0);
    flushed.count = invalidated.count = 0;
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(flushed.count, 3);
    CHECK_EQ(invalidated.count, 1);
    CHECK_EQ(invalidated.start[0], good_bases[2]);
    CHECK_EQ(invalidated.size[0], good_sizes[2]);

    ethosu_set_basep_cache_mask(drv, 0, 0);
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(flushed.count, 7); // stream and constants again, scratch and fast scratch as always
    CHECK_EQ(invalidated.count, 1);
}

DRIVER_TEST(waiting_twice_or_while_idle_is_an_error, "ethos-u55-128")
{
    CHECK_EQ(ethosu_wait(drv, true), -2);
    CHECK_EQ(ethosu_wait(drv, false), -2);
    CHECK_EQ(run_good(drv), 0);
    CHECK_EQ(ethosu_wait(drv, true), -2);
    CHECK_EQ(ethosu_ext_last_error(drv)->code, ETHOSU_EXT_E_NOT_STARTED);
    check_clean(drv);
}

DRIVER_TEST(cancel_stops_and_pairs_and_is_harmless_when_idle, "ethos-u55-128")
{
    CHECK_EQ(ethosu_ext_cancel(drv), 0);
    start_endless(drv);
    CHECK_EQ(ethosu_ext_cancel(drv), 0);
    CHECK(!is_running(0));
    CHECK_EQ(ethosu_ext_last_error(drv)->code, ETHOSU_EXT_E_CANCELLED);
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_CANCELLED), ETHOSU_EXT_ECANCELED);
    check_clean(drv);
    CHECK_EQ(ethosu_wait(drv, true), -2);

    npus[0].end = END_AT_ONCE; // completed, but wait was not called
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(ethosu_ext_cancel(drv), 0);
    check_next_works(drv);
}

DRIVER_TEST(a_soft_reset_cancels_the_running_inference, "ethos-u55-128")
{
    CHECK_EQ(ethosu_soft_reset(drv), 0);
    start_endless(drv);
    CHECK_EQ(ethosu_soft_reset(drv), 0);
    CHECK(!is_running(0));
    check_next_works(drv);
}

DRIVER_TEST(invoking_a_handle_that_is_not_reserved_is_refused, "ethos-u55-128")
{
    ethosu_release_driver(drv);
    unsigned accesses = npus[0].accesses;
    check_error(drv, start_good(drv), ETHOSU_EXT_E_NOT_RESERVED, "");
    CHECK_EQ(ethosu_ext_errno(ETHOSU_EXT_E_NOT_RESERVED), ETHOSU_EXT_EPERM);
    CHECK_EQ(npus[0].accesses, accesses);
}

static struct ethosu_ext_program prepared(struct ethosu_driver *drv)
{
    struct ethosu_ext_program program = {0};
    CHECK_EQ(ethosu_ext_prepare(drv, &program, good_payload, GOOD_PAYLOAD_SIZE, good_bases,
                                good_sizes, 3, 0),
             0);
    return program;
}

DRIVER_TEST(a_prepared_program_starts_again_and_again, "ethos-u55-128")
{
    CHECK_EQ(run_good(drv), 0);
    struct ethosu_ext_program program = prepared(drv);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(ethosu_ext_start(drv, &program, NULL), 0);
        CHECK_EQ(ethosu_ext_wait(drv, 100), 0);
    }
    CHECK_EQ(npus[0].runs, 4);
    check_clean(drv);

    program.owner = NULL;
    CHECK_EQ(ethosu_ext_start(drv, &program, NULL), ETHOSU_EXT_E_OTHER_NPU);
    check_next_works(drv);
}

DRIVER_TEST(a_program_runs_and_is_waited_for_in_one_call, "ethos-u55-128")
{
    struct ethosu_ext_program program = prepared(drv);
    trace[0] = '\0';
    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(ethosu_ext_run(drv, &program, NULL, 100), 0);
        check_clean(drv);
    }
    CHECK_EQ(npus[0].runs, 3);
    CHECK(strcmp(trace, "fbRefbRefbRe") == 0); // the constants were cleaned when it was prepared
    CHECK_EQ(ethosu_ext_wait(drv, 100), -2);
}

DRIVER_TEST(a_run_that_can_not_start_leaves_the_handle_free, "ethos-u55-128")
{
    struct ethosu_ext_program program = prepared(drv);
    program.owner = NULL;
    check_error(drv, ethosu_ext_run(drv, &program, NULL, 100), ETHOSU_EXT_E_OTHER_NPU, "");
    check_next_works(drv);

    program = prepared(drv);
    start_endless(drv);
    check_error(drv, ethosu_ext_run(drv, &program, NULL, 100), ETHOSU_EXT_E_BUSY, "");
    CHECK_EQ(ethosu_ext_wait(drv, 5), -1);
    check_next_works(drv);

    inject("power-lost", UINT32_MAX);
    check_next_works(drv);
    inject("reset-stuck", UINT32_MAX);
    check_error(drv, ethosu_ext_run(drv, &program, NULL, 100), ETHOSU_EXT_E_RESET, "");
    check_next_works(drv);

    ethosu_release_driver(drv);
    check_error(drv, ethosu_ext_run(drv, &program, NULL, 100), ETHOSU_EXT_E_NOT_RESERVED, "");
    CHECK_EQ(ethosu_ext_reserve_this(drv, 0), 0);
    check_next_works(drv);
}

static struct ethosu_driver *late_driver;

static void cancel_from_within_the_wait(void)
{
    if (ethosu_ext_is_running(late_driver)) {
        CHECK_EQ(ethosu_ext_cancel(late_driver), 0);
    }
}

DRIVER_TEST(a_run_that_does_not_end_times_out_or_is_cancelled, "ethos-u55-128")
{
    late_driver = drv;
    struct ethosu_ext_program program = prepared(drv);
    npus[0].end = END_NEVER;
    uint32_t start = clock_ms;
    check_error(drv, ethosu_ext_run(drv, &program, NULL, 20), ETHOSU_EXT_E_TIMEOUT, "");
    CHECK_EQ(clock_ms - start, 20);
    check_next_works(drv);

    npus[0].end = END_NEVER;
    on_sleep = cancel_from_within_the_wait;
    check_error(drv, ethosu_ext_run(drv, &program, NULL, ETHOSU_SEMAPHORE_WAIT_FOREVER),
                ETHOSU_EXT_E_CANCELLED, "");
    check_next_works(drv);
}

static void count_done(struct ethosu_driver *drv, void *argument)
{
    CHECK(drv == late_driver);
    (*(unsigned *)argument)++;
}

TEST(the_done_callback_is_called_once_per_completion)
{
    unsigned done = 0;
    late_driver = open_driver("ethos-u55-128");
    ethosu_ext_on_done(late_driver, count_done, &done);
    check_next_works(late_driver);
    CHECK_EQ(done, 1);
    ethosu_irq_handler(late_driver);
    CHECK_EQ(done, 1);
    ethosu_ext_on_done(late_driver, NULL, NULL);
    check_next_works(late_driver);
    CHECK_EQ(done, 1);
}

/** A reset that never ends, at each reset that an inference needs. */
DRIVER_TEST(a_reset_that_never_ends_is_an_error_and_leaves_nothing_behind, "ethos-u55-128")
{
    inject("power-lost", UINT32_MAX);
    check_next_works(drv);
    unsigned begun = begins;
    inject("reset-stuck", UINT32_MAX);
    check_error(drv, start_good(drv), ETHOSU_EXT_E_RESET, "in reset");
    check_clean(drv);
    CHECK_EQ(begins, begun);
    check_next_works(drv);

    start_endless(drv);
    inject("reset-stuck", UINT32_MAX);
    CHECK(ethosu_ext_cancel(drv) != 0);
    CHECK_EQ(ethosu_ext_last_error(drv)->code, ETHOSU_EXT_E_RESET);
    check_next_works(drv);
}

DRIVER_TEST(a_wrong_protection_state_is_named, "ethos-u55-128")
{
    inject("power-lost", UINT32_MAX);
    check_next_works(drv);
    inject("prot-stuck", 1);
    check_error(drv, start_good(drv), ETHOSU_EXT_E_PROTECTION, "state 0x0, 0x1 requested");
    check_next_works(drv);
}

/** The NPU dies (reads as all ones) from the Nth access on, for every N. */
TEST(an_npu_that_dies_at_any_access_ends_in_an_error_and_no_leak)
{
    for (unsigned at = 1; at < 60; at++) {
        struct ethosu_driver *drv = open_driver("ethos-u55-128");
        npus[0].end = END_ON_SLEEP;
        npus[0].dead_from = npus[0].accesses + at;
        if (start_good(drv) == 0) {
            (void)ethosu_ext_wait(drv, 5);
        }
        check_next_works(drv);
        ethosu_deinit(drv);
    }
}

/* ---- every order of calls ---- */

static void call(struct ethosu_driver *drv, unsigned which)
{
    switch (which) {
    case 0:
        (void)start_good(drv);
        break;
    case 1:
        (void)ethosu_wait(drv, false);
        break;
    case 2:
        (void)ethosu_ext_wait(drv, 3);
        break;
    case 3:
        (void)ethosu_ext_cancel(drv);
        break;
    case 4:
        ethosu_release_driver(drv);
        break;
    case 5:
        (void)ethosu_ext_reserve_this(drv, 0);
        break;
    case 6:
        ethosu_irq_handler(drv);
        break;
    case 7:
        complete(0);
        break;
    default:
        (void)ethosu_soft_reset(drv);
        break;
    }
}

/** Nine calls in all sequences of a length: no hang, and at the end everything is closed. */
static void call_in_every_sequence(unsigned length)
{
    unsigned sequences = 1;
    for (unsigned i = 0; i < length; i++) {
        sequences *= 9;
    }
    for (unsigned sequence = 0; sequence < sequences; sequence++) {
        struct ethosu_driver *drv = open_driver("ethos-u55-128");
        npus[0].end = END_NEVER;
        unsigned rest = sequence;
        for (unsigned i = 0; i < length; i++, rest /= 9) {
            call(drv, rest % 9);
            CHECK(begins - ends <= 1);
        }
        CHECK_EQ(ethosu_ext_cancel(drv), 0);
        (void)ethosu_ext_reserve_this(drv, 0);
        check_next_works(drv);
        ethosu_deinit(drv);
    }
}

TEST(every_sequence_of_four_calls_leaves_the_driver_usable)
{
    call_in_every_sequence(4);
}

TEST(every_sequence_of_five_calls_leaves_the_driver_usable)
{
    call_in_every_sequence(5);
}
