// SPDX-License-Identifier: MIT
/** What the files of this board share. */
#ifndef HOST_INTERNAL_H
#define HOST_INTERNAL_H

#include "ethosu_board.h"
#include "ethosu_driver_ex.h"
#include "host.h"
#include "npu_model.h"

#include <pthread.h>

/** Faults that can be injected; names in faults.c. */
enum host_fault {
    HOST_IRQ_LOST,
    HOST_IRQ_LATE,
    HOST_IRQ_SPURIOUS,
    HOST_HANG,
    HOST_BUS_ERROR,
    HOST_PARSE_ERROR,
    HOST_WATCHDOG,
    HOST_ECC_ERROR,
    HOST_RESET_STUCK,
    HOST_PROT_STUCK,
    HOST_DEAD,
    HOST_FAULT_COUNT,
};

/** One NPU; the driver takes its address for that of the register window. */
struct NPU_REG {
    unsigned index;
    npu_t *model; /**< NULL: not open */
    struct ethosu_driver driver;

    pthread_mutex_t lock; /**< guards the model's registers and all below */
    pthread_cond_t changed;
    pthread_t worker;
    bool threaded;
    bool quit;
    bool working; /**< a command stream is being executed */
    bool aborted;

    bool level;    /**< of the interrupt line */
    bool held_irq; /**< an interrupt that comes late */
    void (*handler)(void *argument);
    void *argument;

    unsigned faults[HOST_FAULT_COUNT]; /**< how many times each is still to happen */
    uint32_t status_set;               /**< STATUS bits forced until the next reset */
    uint32_t status_clear;
};

extern struct NPU_REG host_npus[HOST_NPU_COUNT];

/** Does this fault happen now? Counts it down. The NPU is locked. */
bool host_fault_due(struct NPU_REG *npu, enum host_fault fault);

/** Create and destroy the model, and its thread. */
bool host_npu_create(struct NPU_REG *npu, const char *config);
void host_npu_destroy(struct NPU_REG *npu);

/** Answers of struct npu_bus. */
uint8_t *host_map(void *context, uint64_t address, uint64_t length, bool write);

/** The range of CPU addresses that the NPUs see. */
void host_bus_open(struct ethosu_board_range *range);

/** Any NPU on a thread of its own? Then time is real. */
bool host_time_is_real(void);

/** Add a line to the log. */
void host_print(const char *line);

#endif
