// SPDX-License-Identifier: MIT
/**
 * Faults that a host can inject into an NPU, by name.
 *
 * The simulator itself never fails: these sit between it and the program that
 * drives it, where silicon would have them. A host uses npu_faults_read() and
 * npu_faults_write() in place of npu_read() and npu_write(), asks at each start
 * and end of a run, and delivers interrupts as the flags say. All of this belongs
 * to the register thread of npu_sim.h, except `run`, which changes only while no
 * run is in progress, or when a hang is withdrawn.
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
    unsigned due[NPU_FAULT_COUNT]; /**< how many times each is still to happen */
    struct {
        bool bus_error;  /**< each memory access fails */
        bool hang;       /**< not to be executed until it is aborted or the hang is withdrawn */
        bool spurious;   /**< interrupts that mean nothing, at its start and at its end */
    } run;               /**< of the run under way */
    bool asked;          /**< for power */
    bool off;            /**< power was refused: registers read as 0 until it is released */
    bool irq_held;       /**< an interrupt comes after the next reset */
    unsigned resetting;  /**< reads of STATUS until a slow reset ends */
    uint32_t status_set; /**< STATUS bits forced until the next reset */
    uint32_t status_clear;
    /** Called when a fault happens, if not NULL; for "dead" at the first access only. */
    void (*happens)(void *context, const char *name);
    void *context;  /**< of `happens` */
    bool dead_told; /**< `happens` was called for it */
};

/**
 * Let a fault happen `count` times, from now on; 0 withdraws it. A run that hangs
 * goes on when "hang" is withdrawn: the host executes it if `run.hang` was set before
 * and is not any more.
 *
 * @return  false: no fault has that name
 */
bool npu_faults_inject(struct npu_faults *faults, const char *name, unsigned count);

/** Hardware reset: what has happened is over, what is still to happen stays. */
void npu_faults_reset(struct npu_faults *faults);

/** npu_read() through the faults. */
uint32_t npu_faults_read(struct npu_faults *faults, npu_t *npu, uint32_t offset);

/** npu_write() through the faults. */
enum npu_action npu_faults_write(struct npu_faults *faults, npu_t *npu, uint32_t offset,
                                 uint32_t value);

/** A run begins: sets `run`. */
void npu_faults_begin(struct npu_faults *faults);

/** A run has ended, with or without success: sets the bits forced upon STATUS. */
void npu_faults_end(struct npu_faults *faults);

/**
 * A run has raised its interrupt. False: it is not delivered, neither now nor
 * later, or (irq_held is set) after the next reset.
 */
bool npu_faults_deliver(struct npu_faults *faults);

/** Was an interrupt held back until this register write, a reset? Takes it. */
bool npu_faults_take_held(struct npu_faults *faults, uint32_t offset);

#endif
