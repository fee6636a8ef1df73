// SPDX-License-Identifier: MIT
/** Performance counters, and the register level of Ethos-U65 and U85. */
#include "board.h"
#include "pmu_ethosu.h"

/** This NPU supports less than the simulator's. */
static void limit_ports(const struct sim_host_access *access)
{
    if (access->offset == NPU_CFG_SRAM_CAP) {
        *storage(0, NPU_CFG_SRAM_CAP) = 15 | 15 << 8 | 2 << 16;
    }
    if (access->offset == NPU_CFG_EXT_CAP) {
        *storage(0, NPU_CFG_EXT_CAP) = 63 | 7 << 8 | 1 << 16;
    }
}

DRIVER_TEST(the_pmu_keeps_the_power_on, "ethos-u55-128")
{
    ETHOSU_PMU_Enable(drv);
    CHECK_EQ(npus[0].written.offset, NPU_PMCR);
    CHECK_EQ(npus[0].written.value, NPU_PMCR_ENABLE);
    CHECK_EQ(reg(0, NPU_CMD), 0);
    ETHOSU_PMU_Set_EVCNTR(drv, 0, 7);
    ETHOSU_PMU_Set_CCNTR(drv, 7);
    ETHOSU_PMU_CYCCNT_Reset(drv);
    CHECK_EQ(ETHOSU_PMU_Get_CCNTR(drv), 0);
    CHECK_EQ(ETHOSU_PMU_Get_EVCNTR(drv, 0), 7);
    ETHOSU_PMU_EVCNTR_ALL_Reset(drv);
    CHECK_EQ(ETHOSU_PMU_Get_EVCNTR(drv, 0), 0);

    CHECK_EQ(run_good(drv), 0); // counts survive an inference
    CHECK_EQ(reg(0, NPU_PMCR) & NPU_PMCR_ENABLE, NPU_PMCR_ENABLE);
    ETHOSU_PMU_Disable(drv);
    CHECK_EQ(reg(0, NPU_PMCR) & NPU_PMCR_ENABLE, 0);
    CHECK_EQ(drv->power_request_counter, 0);
}

DRIVER_TEST(a_pmu_without_power_stays_off, "ethos-u85-512")
{
    set_reg(0, NPU_MEM_ATTR0 + 12, 0); // its state is lost
    inject("reset-stuck", 1);
    ETHOSU_PMU_Enable(drv);
    CHECK_EQ(reg(0, NPU_PMCR) & NPU_PMCR_ENABLE, 0);
    CHECK_EQ(ethosu_ext_last_error(drv)->code, ETHOSU_EXT_E_RESET);
}

DRIVER_TEST(events_of_this_npu_are_set_others_refused, "ethos-u55-128")
{
    ETHOSU_PMU_Set_EVTYPER(drv, 3, ETHOSU_PMU_MAC_ACTIVE);
    CHECK_EQ(reg(0, NPU_PMEVTYPER0 + 12), 0x30);
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 3), ETHOSU_PMU_MAC_ACTIVE);
    ETHOSU_PMU_Set_EVTYPER(drv, 3, ETHOSU_PMU_SRAM3_RD_TRANS_ACCEPTED); // U85 only
    ETHOSU_PMU_Set_EVTYPER(drv, 3, ETHOSU_PMU_SENTINEL);
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 3), ETHOSU_PMU_MAC_ACTIVE);
    ETHOSU_PMU_Set_EVTYPER(drv, 4, ETHOSU_PMU_CYCLE); // there are four
    CHECK_EQ(reg(0, NPU_PMEVTYPER0 + 16), 0);
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 4), ETHOSU_PMU_SENTINEL);
    set_reg(0, NPU_PMEVTYPER0, 0x3FF);
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 0), ETHOSU_PMU_SENTINEL);
    CHECK_EQ(ETHOSU_PMU_Get_NumEventCounters(), 4);
}

/** Public code loops from 0 to the sentinel. */
static unsigned count_events(const char *config)
{
    struct ethosu_driver *drv = open_driver(config);
    unsigned known = 0;
    for (unsigned event = 0; event < ETHOSU_PMU_SENTINEL; event++) {
        ETHOSU_PMU_Set_EVTYPER(drv, 0, ETHOSU_PMU_NO_EVENT);
        ETHOSU_PMU_Set_EVTYPER(drv, 0, (enum ethosu_pmu_event_type)event);
        enum ethosu_pmu_event_type set = ETHOSU_PMU_Get_EVTYPER(drv, 0);
        CHECK(set == event || set == ETHOSU_PMU_NO_EVENT);
        known += set == event;
    }
    ethosu_deinit(drv);
    return known;
}

TEST(events_are_counted_from_0_to_the_sentinel)
{
    // The same numbers as in Arm's header of each product.
    CHECK_EQ(count_events("ethos-u55-128"), 74);
    CHECK_EQ(count_events("ethos-u65-256"), 74);
    CHECK_EQ(count_events("ethos-u85-512"), 171);
    CHECK_EQ(ETHOSU_EXT_PMU_SRAM3_RD_TRANS_ACCEPTED, 0x230);
}

DRIVER_TEST(counters_read_write_and_stay_in_bounds, "ethos-u55-128")
{
    ETHOSU_PMU_Set_EVCNTR(drv, 2, 77);
    CHECK_EQ(ETHOSU_PMU_Get_EVCNTR(drv, 2), 77);
    ETHOSU_PMU_Set_EVCNTR(drv, 4, 5);
    CHECK_EQ(ETHOSU_PMU_Get_EVCNTR(drv, 4), 0);
    CHECK_EQ(reg(0, NPU_PMEVCNTR0 + 16), 0);

    ETHOSU_PMU_CNTR_Enable(drv, ETHOSU_PMU_CCNT_Msk | ETHOSU_PMU_CNT3_Msk);
    CHECK_EQ(ETHOSU_PMU_CNTR_Status(drv), ETHOSU_PMU_CCNT_Msk | ETHOSU_PMU_CNT3_Msk);
    ETHOSU_PMU_Set_CCNTR(drv, UINT64_C(0xFFFF12345678));
    CHECK_EQ(ETHOSU_PMU_Get_CCNTR(drv), UINT64_C(0xFFFF12345678));
    ETHOSU_PMU_Set_CCNTR(drv, UINT64_C(0x12FFFFFFFF));
    ETHOSU_PMU_CNTR_Increment(drv, ETHOSU_PMU_CCNT_Msk | ETHOSU_PMU_CNT3_Msk);
    CHECK_EQ(ETHOSU_PMU_Get_CCNTR(drv), UINT64_C(0x1300000000));
    CHECK_EQ(ETHOSU_PMU_Get_EVCNTR(drv, 2), 78);
    CHECK_EQ(ETHOSU_PMU_CNTR_Status(drv), ETHOSU_PMU_CCNT_Msk | ETHOSU_PMU_CNT3_Msk);
    ETHOSU_PMU_CNTR_Disable(drv, ETHOSU_PMU_CNT3_Msk);
    ETHOSU_PMU_CNTR_Increment(drv, ETHOSU_PMU_CNT3_Msk); // a stopped one stays stopped
    CHECK_EQ(ETHOSU_PMU_CNTR_Status(drv), ETHOSU_PMU_CCNT_Msk);
}

DRIVER_TEST(overflow_and_its_interrupt_are_masked_and_cleared, "ethos-u55-128")
{
    ETHOSU_PMU_Set_CNTR_IRQ_Enable(drv, 5);
    CHECK_EQ(ETHOSU_PMU_Get_IRQ_Enable(drv), 5);
    ETHOSU_PMU_Set_CNTR_IRQ_Disable(drv, 1);
    CHECK_EQ(ETHOSU_PMU_Get_IRQ_Enable(drv), 4);
    set_reg(0, NPU_PMOVSSET, 6);
    CHECK_EQ(ETHOSU_PMU_Get_CNTR_OVS(drv), 6);
    ETHOSU_PMU_Set_CNTR_OVS(drv, 2);
    CHECK_EQ(ETHOSU_PMU_Get_CNTR_OVS(drv), 4);
}

DRIVER_TEST(start_and_stop_events_are_independent, "ethos-u55-128")
{
    ETHOSU_PMU_PMCCNTR_CFG_Set_Start_Event(drv, ETHOSU_PMU_NPU_ACTIVE);
    ETHOSU_PMU_PMCCNTR_CFG_Set_Stop_Event(drv, ETHOSU_PMU_NPU_IDLE);
    CHECK_EQ(reg(0, NPU_PMCCNTR_CFG), 0x00200023);
    ETHOSU_PMU_PMCCNTR_CFG_Set_Start_Event(drv, ETHOSU_PMU_NO_EVENT);
    CHECK_EQ(reg(0, NPU_PMCCNTR_CFG), 0x00200000);
    ETHOSU_PMU_PMCCNTR_CFG_Set_Stop_Event(drv, ETHOSU_PMU_SENTINEL);
    CHECK_EQ(reg(0, NPU_PMCCNTR_CFG), 0x00200000);
}

DRIVER_TEST(status_and_queue_pointer_are_read, "ethos-u55-128")
{
    atomic_store(&sim_host_npus[0].sim->qread, 44);
    *storage(0, NPU_STATUS) = 0x21;
    CHECK_EQ(ETHOSU_PMU_Get_QREAD(drv), 44);
    CHECK_EQ(ETHOSU_PMU_Get_STATUS(drv), 0x21);
}

DRIVER_TEST(u65_gets_its_limits_and_addresses, "ethos-u65-512")
{
    CHECK_EQ(reg(0, NPU_AXI_LIMIT0), 0x1F3F0000);
    CHECK_EQ(drv->dev.config_register >> 28, 1);
}

TEST(u85_gets_memory_attributes_and_ports)
{
    on_access = limit_ports;
    struct ethosu_driver *drv = open_driver("ethos-u85-512");
    CHECK_EQ(reg(0, NPU_MEM_ATTR0), 0);
    CHECK_EQ(reg(0, NPU_MEM_ATTR0 + 4), 0);
    CHECK_EQ(reg(0, NPU_MEM_ATTR0 + 8), 4);
    CHECK_EQ(reg(0, NPU_MEM_ATTR0 + 12), 4);
    CHECK_EQ(reg(0, NPU_AXI_SRAM), 11 | 15 << 8 | 2 << 16);
    CHECK_EQ(reg(0, NPU_AXI_EXT),
             63 | 7 << 8 | 1 << 16); // 32 writes and bursts of 256 are too much
    CHECK_EQ(reg(0, NPU_POWER_CTRL), 0);
    ETHOSU_PMU_Set_EVTYPER(drv, 7, ETHOSU_PMU_EXT1_WR_STALL_LIMIT);
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 7), ETHOSU_PMU_EXT1_WR_STALL_LIMIT);
    ETHOSU_PMU_Set_EVTYPER(drv, 6, ETHOSU_PMU_ECC_SB1); // U55 and U65 only
    CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 6), ETHOSU_PMU_NO_EVENT);
    CHECK_EQ(ETHOSU_PMU_Get_NumEventCounters(), 8);
    CHECK_EQ(ETHOSU_PMU_Get_NumEventCountersForDrv(drv), 8);
}

TEST(the_handle_has_the_functions_of_its_family)
{
    static const char *const configs[] = {"ethos-u55-128", "ethos-u65-256", "ethos-u85-512"};
    const struct ethosu_pmu_desc *expected[] = {&ethosu_pmu_desc_u55, &ethosu_pmu_desc_u65,
                                                &ethosu_pmu_desc_u85};
    for (int i = 0; i < 3; i++) {
        struct ethosu_driver *drv = open_driver(configs[i]);
        CHECK(drv->pmu == expected[i]);
        CHECK_EQ(drv->pmu->ops->ETHOSU_PMU_Get_NumEventCounters(),
                 ETHOSU_PMU_Get_NumEventCountersForDrv(drv));
        drv->pmu->ops->ETHOSU_PMU_Set_EVTYPER(drv, 3, ETHOSU_PMU_MAC_ACTIVE);
        CHECK_EQ(ETHOSU_PMU_Get_EVTYPER(drv, 3), ETHOSU_PMU_MAC_ACTIVE);
        ethosu_deinit(drv);
    }
}

DRIVER_TEST(u85_that_kept_its_state_is_not_reset, "ethos-u85-512")
{
    unsigned resets = npus[0].resets;
    CHECK_EQ(ethosu_request_power(drv), 0);
    CHECK_EQ(npus[0].resets, resets);
    ethosu_release_power(drv);
    set_reg(0, NPU_MEM_ATTR0 + 12, 0);
    CHECK_EQ(ethosu_request_power(drv), 0);
    CHECK_EQ(npus[0].resets, resets + 1);
    ethosu_release_power(drv);
}

/** COP1 for ethos-u85-512 as Vela configures it. */
static void u85_payload(uint32_t config)
{
    good_payload[2] = config;
    good_payload[3] = 0x20007000u;
}

DRIVER_TEST(u85_runs_with_its_own_addresses_and_attributes, "ethos-u85-512")
{
    drv->dev.config_register = 0x20001119u;
    u85_payload(0x20001119u);
    bus_offset = UINT64_C(1) << 36;
    CHECK_EQ(start_good(drv), 0);
    CHECK_EQ(reg(0, NPU_QBASE + 4), 1u << 4);
    CHECK_EQ(reg(0, NPU_QCONFIG), 2);
    CHECK_EQ(reg(0, NPU_REGIONCFG), 0x13);
    CHECK_EQ(ethosu_wait(drv, true), -1); // nothing is there
}

TEST(u85_faults_are_its_own)
{
    static const struct {
        uint32_t status;
        int result;
    } cases[] = {
        {0, 0},
        {ETHOSU_EXT_STATUS_WATCHDOG, 0}, // reserved there
        {ETHOSU_EXT_STATUS_BRANCH, -1},
        {ETHOSU_EXT_STATUS_BUS_ERROR, -1},
    };
    struct ethosu_driver *drv = open_driver("ethos-u85-512");
    u85_payload(drv->dev.config_register);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        npus[0].end = END_NEVER;
        CHECK_EQ(start_good(drv), 0);
        *storage(0, NPU_STATUS) |= cases[i].status;
        complete(0); // with END_REACHED
        CHECK_EQ(ethosu_wait(drv, true), cases[i].result);
    }
    npus[0].end = END_AT_ONCE;
    inject("branch-error", 1);
    CHECK_EQ(run_good(drv), -1);
    CHECK_TEXT(error_text(drv), "branch");
}

DRIVER_TEST(u85_models_must_match_its_memory_ports, "ethos-u85-512")
{
    drv->dev.config_register = 0x20001119u;
    ethosu_ext_set_verify(drv, false);
    u85_payload(0x20001219u);
    check_error(drv, start_good(drv), ETHOSU_EXT_E_CONFIG_MISMATCH, "");
    u85_payload(0x20000119u); // num_wd may differ
    CHECK_EQ(start_good(drv), 0);
}

static unsigned wraps_at;

/** The low word of the cycle counter wraps before this access. */
static void wrap(const struct sim_host_access *access)
{
    if (npus[access->index].accesses == wraps_at) {
        uint32_t high = reg(0, NPU_PMCCNTR_HI);
        set_reg(0, NPU_PMCCNTR_LO, 0);
        set_reg(0, NPU_PMCCNTR_HI, high + 1);
    }
}

DRIVER_TEST(the_cycle_counter_is_read_consistently, "ethos-u55-128")
{
    set_reg(0, NPU_PMCCNTR_LO, 0xFFFFFFFF);
    set_reg(0, NPU_PMCCNTR_HI, 1);
    on_access = wrap;
    wraps_at = npus[0].accesses + 2; // before the low word is read
    CHECK_EQ(ETHOSU_PMU_Get_CCNTR(drv), UINT64_C(0x200000000));
    set_reg(0, NPU_PMCCNTR_LO, 0xFFFFFFFF);
    wraps_at = npus[0].accesses + 3; // after it
    CHECK_EQ(ETHOSU_PMU_Get_CCNTR(drv), UINT64_C(0x300000000));
}
