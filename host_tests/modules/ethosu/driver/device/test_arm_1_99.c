// SPDX-License-Identifier: MIT
/** Additions of Arm's driver 1.99 to 1.0: several kinds of NPUs in one image. */
#include "board.h"

static struct ethosu_driver small, large;

static int init(struct ethosu_driver *drv, const struct ethosu_device_desc *desc,
                struct ethosu_device_config *config, struct ethosu_device_user_ops *ops)
{
    return ethosu_init_ex(drv, desc, config, ops, &sim_host_npus[drv == &large], NULL, 0, 1, 1);
}

/** A U55 and a U85, each initialised with its own configuration. */
static void two_kinds(void)
{
    power_up(0, "ethos-u55-128");
    power_up(1, "ethos-u85-512");
    CHECK_EQ(init(&small, &ethosu_device_desc_u55, &ethosu_device_config_u55, NULL), 0);
    CHECK_EQ(init(&large, &ethosu_device_desc_u85, &ethosu_device_config_u85, NULL), 0);
    attach(0, &small);
    attach(1, &large);
}

/** No config in the payload. */
static void for_any_npu(void)
{
    good_payload[1] = good_payload[2] = good_payload[3] = 5;
}

TEST(an_npu_is_reserved_by_product_and_macs)
{
    two_kinds();
    CHECK_EQ(large.dev.caps.product, ETHOSU_PRODUCT_U85);
    CHECK_EQ(large.dev.caps.log2_macs, ETHOSU_MACS_512);
    CHECK(ethosu_reserve_driver_ex(ETHOSU_PRODUCT_U85, ETHOSU_MACS_512) == &large);
    CHECK(ethosu_reserve_driver_ex(ETHOSU_PRODUCT_U55, ETHOSU_MACS_128) == &small);
    CHECK(ethosu_reserve_driver_ex(ETHOSU_PRODUCT_U55, ETHOSU_MACS_256) == NULL);
    CHECK(ethosu_reserve_driver_ex(ETHOSU_PRODUCT_U65, ETHOSU_MACS_512) == NULL);
}

TEST(a_payload_finds_its_npu)
{
    uint32_t product = 9;
    uint32_t macs = 9;
    two_kinds();
    CHECK_EQ(
        ethosu_get_product_config_from_cop_data(good_payload, GOOD_PAYLOAD_SIZE, &product, &macs),
        0);
    CHECK_EQ(product, ETHOSU_PRODUCT_U55);
    CHECK_EQ(macs, ETHOSU_MACS_128);
    CHECK_EQ(ethosu_get_product_config_from_cop_data(good_payload, GOOD_PAYLOAD_SIZE, NULL, NULL),
             0);
    CHECK_EQ(ethosu_get_product_config_from_cop_data(good_payload, 4, &product, &macs), -1);
    CHECK_EQ(ethosu_get_product_config_from_cop_data(NULL, 36, &product, &macs), -1);

    for (unsigned i = 0; i < 3; i++) {
        CHECK_EQ(
            ethosu_invoke_auto(good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3, NULL),
            0);
    }
    CHECK_EQ(
        ethosu_invoke_v3(NULL, good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3, NULL),
        0);
    CHECK_EQ(npus[0].runs, 4);
    CHECK_EQ(npus[1].runs, 0);
    CHECK(!small.reserved);
    good_payload[2] = 0x20000009u ^ 3; // no NPU of this kind
    CHECK_EQ(ethosu_invoke_auto(good_payload, GOOD_PAYLOAD_SIZE, good_bases, good_sizes, 3, NULL),
             -1);
}

TEST(the_defaults_are_those_of_ethosu_init)
{
    static const char *const configs[] = {"ethos-u55-128", "ethos-u65-256", "ethos-u85-512"};
    const struct ethosu_device_desc *const descs[] = {
        &ethosu_device_desc_u55, &ethosu_device_desc_u65, &ethosu_device_desc_u85};
    struct ethosu_device_config *const defaults[] = {
        &ethosu_device_config_u55, &ethosu_device_config_u65, &ethosu_device_config_u85};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t expected[10];
        for (unsigned way = 0; way < 2; way++) {
            power_up(0, configs[i]);
            CHECK_EQ(way == 0 ? ethosu_init(&small, &sim_host_npus[0], NULL, 0, 1, 1)
                              : init(&small, descs[i], defaults[i], NULL),
                     0);
            attach(0, &small);
            CHECK(ethosu_reserve_driver() == &small);
            for_any_npu();
            CHECK_EQ(run_good(&small), 0);
            uint32_t found[10] = {reg(0, NPU_QCONFIG), reg(0, NPU_REGIONCFG)};
            for (unsigned j = 0; j < 8; j++) {
                found[2 + j] = reg(0, NPU_AXI_LIMIT0 + 4 * j);
            }
            CHECK(way == 0 || memcmp(expected, found, sizeof found) == 0);
            memcpy(expected, found, sizeof found);
            ethosu_deinit(&small);
        }
    }
}

TEST(a_configuration_of_the_caller_is_set)
{
    struct u85_config_t mine = {.qconfig = {.word = 1}, .regioncfg = {.word = 0x2A}};
    struct ethosu_device_config config = {&mine};
    mine.mem_attr[2].memtype = 5;
    mine.power_ctrl.mac_step_cycles = 17;
    power_up(1, "ethos-u85-512");
    CHECK_EQ(init(&large, &ethosu_device_desc_u85, &config, NULL), 0);
    attach(1, &large);
    CHECK_EQ(reg(1, NPU_MEM_ATTR0 + 8), 0x50);
    CHECK_EQ(reg(1, NPU_POWER_CTRL), 17);
    CHECK(ethosu_reserve_driver() == &large);
    for_any_npu();
    CHECK_EQ(run_good(&large), 0);
    CHECK_EQ(reg(1, NPU_QCONFIG), 1);
    CHECK_EQ(reg(1, NPU_REGIONCFG), 0x2A);
}

static uint64_t remap(uint64_t address, int index)
{
    return (uint32_t)address + (index < 0 ? 0x100 : 0x1000u * ((unsigned)index + 1));
}

static unsigned int choose(uint64_t address, int index)
{
    (void)address;
    return index < 0 ? 0 : 1;
}

TEST(an_npu_may_have_hooks_of_its_own)
{
    struct ethosu_device_user_ops ops = {.address_remap = remap, .config_select = choose};
    two_kinds();
    ethosu_deinit(&small);
    CHECK_EQ(init(&small, &ethosu_device_desc_u55, &ethosu_device_config_u55, &ops), 0);
    CHECK_EQ(ethosu_ext_reserve_this(&small, 0), 0);
    start_endless(&small);
    CHECK_EQ(reg(0, NPU_BASEP0 + 8), (uint32_t)good_bases[1] + 0x2000);
    CHECK_EQ(reg(0, NPU_QCONFIG), 0);
    CHECK_EQ(reg(0, NPU_REGIONCFG), 0x15);
}

TEST(invalid_arguments_are_rejected)
{
    struct ethosu_device_config empty = {NULL};
    power_up(0, "ethos-u55-128");
    check_error(&small, init(&small, &ethosu_device_desc_u85, &ethosu_device_config_u85, NULL),
                ETHOSU_EXT_E_OTHER_PRODUCT, "");
    CHECK_EQ(init(&small, NULL, &ethosu_device_config_u55, NULL), -1);
    CHECK_EQ(init(&small, &ethosu_device_desc_u55, NULL, NULL), -1);
    CHECK_EQ(init(&small, &ethosu_device_desc_u55, &empty, NULL), -1);
    CHECK_EQ(ethosu_init_ex(NULL, &ethosu_device_desc_u55, &ethosu_device_config_u55, NULL,
                            &sim_host_npus[0], NULL, 0, 1, 1),
             -1);
}
