// SPDX-License-Identifier: MIT
/**
 * Faults that a host can inject into an NPU, by name.
 *
 * The simulator itself never fails. The faults are applied between it and the driver, where they
 * would occur in silicon. A host calls npu_faults_read() and npu_faults_write() instead of
 * npu_read() and npu_write(), calls npu_faults_begin() and npu_faults_end() at the start and end of
 * each run, and delivers interrupts as the flags specify. All of this belongs to the register
 * thread of npu_sim.h, except `run`, which changes only while no run is in progress, or when a hang
 * is withdrawn.
 */
#ifndef NPU_FAULTS_H
#define NPU_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "npu_sim.h"

enum npu_fault {
    NPU_FAULT_IRQ_LOST,
    NPU_FAULT_IRQ_LATE,
    NPU_FAULT_IRQ_SPURIOUS,
    NPU_FAULT_HANG,
    NPU_FAULT_BUS_ERROR,
    NPU_FAULT_PARSE_ERROR,
    NPU_FAULT_WATCHDOG,
    NPU_FAULT_ECC_ERROR,
    NPU_FAULT_BRANCH_ERROR,
    NPU_FAULT_POWER_REFUSED,
    NPU_FAULT_POWER_LOST,
    NPU_FAULT_RESET_STUCK,
    NPU_FAULT_RESET_SLOW,
    NPU_FAULT_PROT_STUCK,
    NPU_FAULT_DEAD,
    NPU_FAULT_COUNT,
};

struct npu_faults {
    unsigned due[NPU_FAULT_COUNT]; /**< remaining number of times for each fault */
    struct {
        bool bus_error; /**< all memory accesses fail */
        bool hang;      /**< do not execute until aborted or the hang is withdrawn */
        bool spurious;  /**< spurious interrupts at its start and end */
    } run;              /**< of the current run */
    bool power_requested;
    bool off;            /**< power was refused; registers read as 0 until it is released */
    bool irq_held;       /**< an interrupt is held back until the next reset */
    unsigned resetting;  /**< remaining reads of STATUS in a slow reset */
    uint32_t status_set; /**< STATUS bits forced until the next reset */
    uint32_t status_clear;
    /** Called when a fault happens, if not NULL; for "dead" at the first access only. */
    void (*happens)(void *context, const char *name);
    void *context;      /**< of `happens` */
    bool dead_reported; /**< `happens` was called for "dead" */
};

/**
 * Let a fault happen `count` times from now on; 0 withdraws it. Withdrawing "hang" resumes a
 * hanging run: the host executes it if `run.hang` changes from true to false.
 *
 * @return  false if the fault is unknown
 */
bool npu_faults_inject(struct npu_faults *faults, const char *name, unsigned count);

/** Hardware reset: ends active faults; pending ones remain. */
void npu_faults_reset(struct npu_faults *faults);

/** npu_read() with faults applied. */
uint32_t npu_faults_read(struct npu_faults *faults, npu_t *npu, uint32_t offset);

/** npu_write() with faults applied. */
enum npu_action npu_faults_write(struct npu_faults *faults, npu_t *npu, uint32_t offset,
                                 uint32_t value);

/** A run begins: sets `run`. */
void npu_faults_begin(struct npu_faults *faults);

/** A run has ended, successful or not: sets the forced STATUS bits. */
void npu_faults_end(struct npu_faults *faults);

/**
 * A run has raised its interrupt. False: do not deliver it, or if irq_held is set, deliver it after
 * the next reset.
 */
bool npu_faults_deliver(struct npu_faults *faults);

/** Does this register write, a reset, release a held interrupt? Clears it. */
bool npu_faults_release_held(struct npu_faults *faults, uint32_t offset);

#endif
