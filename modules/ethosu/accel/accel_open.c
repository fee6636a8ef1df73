// SPDX-License-Identifier: MIT
/** A handle: open, close and properties. */
#include "accel.h"

#include "driver/device/ethosu_products.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct ethosu_accel_calls of_libc = {open, ioctl, mmap, munmap, close};

/** Identify the NPU. @return 0, or an enum ethosu_ext_error */
static int identify(struct accel *accel)
{
    struct ethosu_device *dev = &accel->driver.dev;
    struct accel_npu_info info = {0};
    struct accel_query query = {.size = sizeof info, .pointer = (uintptr_t)&info};
    int error = accel_call(accel, accel->file, ACCEL_QUERY, &query);
    if (error != 0) {
        return ethosu_ext_refuse(&accel->driver.fault, ETHOSU_EXT_E_ACCEL_OPEN, -1, (size_t)error,
                                 0);
    }
    const struct ethosu_ext_product *product = ethosu_ext_product_find(info.config);
    if (product == NULL || product->part == NULL) {
        return ethosu_ext_refuse(&accel->driver.fault, ETHOSU_EXT_E_NO_NPU, -1, info.config,
                                 info.id);
    }
    dev->config_register = info.config;
    dev->id = info.id;
    dev->part = product->part;
    accel->sram_size = info.sram_size;
    accel->counters = info.pmu_counters;
    return 0;
}

static int set_up(struct accel *accel, const char *path)
{
    accel->file = accel->calls->open(path, O_RDWR | O_CLOEXEC);
    if (accel->file < 0) {
        return ethosu_ext_refuse(&accel->driver.fault, ETHOSU_EXT_E_ACCEL_OPEN, -1, (size_t)errno,
                                 0);
    }
    RETURN_IF_ERROR(identify(accel));
    accel->mark = accel_buffer_new(accel, sizeof(struct accel_mark), -1);
    return accel->mark == NULL ? accel->driver.fault.code : 0;
}

struct ethosu_driver *ethosu_accel_open(const char *path, const struct ethosu_accel_calls *calls,
                                        struct ethosu_ext_fault *fault)
{
    struct accel *accel = calloc(1, sizeof *accel);
    if (accel == NULL) {
        (void)ethosu_ext_refuse(fault, ETHOSU_EXT_E_ACCEL_MEMORY, -1, sizeof *accel, ENOMEM);
        return NULL;
    }
    accel->calls = calls != NULL ? calls : &of_libc;
    accel->file = -1;
    accel->driver.timeout = ETHOSU_SEMAPHORE_WAIT_INFERENCE;
    if (set_up(accel, path) != 0) {
        if (fault != NULL) {
            *fault = accel->driver.fault;
        }
        ethosu_accel_close(&accel->driver);
        return NULL;
    }
    return &accel->driver;
}

void ethosu_accel_close(struct ethosu_driver *drv)
{
    if (drv == NULL) {
        return;
    }
    struct accel *accel = accel_of(drv);
    if (accel->file >= 0) {
        (void)ethosu_accel_count(drv, NULL, 0);
        accel_buffers_free(accel);
        (void)accel->calls->close(accel->file);
    }
    free(accel);
}

void *ethosu_accel_alloc(struct ethosu_driver *drv, size_t size)
{
    struct accel_buffer *buffer = accel_buffer_new(accel_of(drv), size, -1);
    return buffer == NULL ? NULL : buffer->map;
}

size_t ethosu_accel_sram(const struct ethosu_driver *drv)
{
    return ((const struct accel *)drv)->sram_size;
}

uint64_t ethosu_accel_copied(const struct ethosu_driver *drv)
{
    return ((const struct accel *)drv)->copied;
}

/* ---- functions that ethosu_handle.c implements on a Cortex-M ---- */

uint32_t ethosu_ext_config(const struct ethosu_driver *drv)
{
    return drv->dev.config_register;
}

const struct ethosu_ext_fault *ethosu_ext_last_error(const struct ethosu_driver *drv)
{
    return &drv->fault;
}

const struct ethosu_ext_program *ethosu_ext_last_program(const struct ethosu_driver *drv)
{
    return ((const struct accel *)drv)->run;
}

void ethosu_ext_set_timeout(struct ethosu_driver *drv, uint64_t timeout)
{
    drv->timeout = timeout;
}
