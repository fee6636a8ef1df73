// SPDX-License-Identifier: MIT
/** The NPUs of this board: simulators in the same instance. */
#ifndef WEB_NPU_H
#define WEB_NPU_H

#include <stdbool.h>
#include <stdint.h>

#define WEB_NPUS 2u
/** Interrupts: NPU `index` has this one and those that follow. */
#define WEB_NPU_IRQ 0u

/** What an address of the driver's registers points at. */
struct NPU_REG {
    uint32_t id; /**< not 0: there is one */
    struct npu *sim;
    bool level;   /**< of the interrupt line */
    bool working; /**< its command stream is not at its end */
};

extern struct NPU_REG web_npus[WEB_NPUS];

/** Create the simulators that the page asks for. */
void npu_start(void);

/** Do an operation of each NPU at work; false when all are idle. */
bool npu_work(void);

/** An interrupt line that is still high pends its interrupt again. */
void npu_level_again(void);

#endif
