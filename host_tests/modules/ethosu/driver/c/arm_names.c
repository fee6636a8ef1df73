// SPDX-License-Identifier: MIT
/**
 * A program that uses only the interface of Arm's core driver: every function of ethosu_driver.h,
 * with its own types. job/test_pmu.c has those of pmu_ethosu.h.
 */
#define ETHOSU55
#include <ethosu_driver.h>
#include <ethosu_types.h>
#include <pmu_ethosu.h>

#include <stdio.h>

static struct ethosu_driver npu;

void ethosu_flush_dcache(const uint64_t *base_addr, const size_t *base_addr_size, int num_base_addr)
{
    (void)base_addr;
    (void)base_addr_size;
    (void)num_base_addr;
}

unsigned int ethosu_config_select(uint64_t address, int index)
{
    (void)address;
    return index < 0 ? 2 : 1;
}

static int infer(const void *payload, int size, uint64_t *bases, size_t *sizes, int count)
{
    struct ethosu_driver *drv = ethosu_reserve_driver();
    if (drv == NULL) {
        return ETHOSU_GENERIC_FAILURE;
    }
    int result = ethosu_invoke_v3(drv, payload, size, bases, sizes, count, NULL);
    result |= ethosu_invoke(drv, payload, size, bases, sizes, count);
    result |= ethosu_invoke_async(drv, payload, size, bases, sizes, count, NULL);
    while (ethosu_wait(drv, false) == 1) {
    }
    ethosu_release_driver(drv);
    return result | ethosu_invoke_v2(payload, size, bases, sizes, count);
}

int main(void)
{
    static const uint32_t payload[2];
    static uint64_t bases[8];
    static size_t sizes[8];
    struct ethosu_driver_version version;
    struct ethosu_hw_info info;
    void *mutex = ethosu_mutex_create();
    void *semaphore = ethosu_semaphore_create();

    ethosu_get_driver_version(&version);
    if (ethosu_init(&npu, (void *)0x1000, NULL, 0, 1, 1) != 0) {
        puts("no NPU there, as expected");
    }
    ethosu_set_basep_cache_mask(&npu, 0x2, 0x2);
    ethosu_get_hw_info(&npu, &info);
    int failed = ethosu_mutex_lock(mutex) | ethosu_mutex_unlock(mutex) |
                 ethosu_semaphore_give(semaphore) |
                 ethosu_semaphore_take(semaphore, ETHOSU_SEMAPHORE_WAIT_FOREVER);
    ethosu_semaphore_destroy(semaphore);
    ethosu_mutex_destroy(mutex);
    ethosu_inference_begin(&npu, NULL);
    ethosu_inference_end(&npu, NULL);
    ethosu_invalidate_dcache(bases, sizes, 8);
    failed |= infer(payload, sizeof payload, bases, sizes, 8) != ETHOSU_GENERIC_FAILURE;
    failed |= ethosu_address_remap(5, -1) != 5 || version.major != ETHOSU_DRIVER_VERSION_MAJOR;
    if (info.cfg.macs_per_cc != 0) { // never: there is no NPU to drive
        failed |= ethosu_request_power(&npu) | ethosu_soft_reset(&npu);
        ethosu_release_power(&npu);
        ethosu_irq_handler(&npu);
    }
    ethosu_deinit(&npu);
    return failed;
}
