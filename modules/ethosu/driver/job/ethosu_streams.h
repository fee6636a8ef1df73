// SPDX-License-Identifier: MIT
/** Payloads verified and prepared by ethosu_invoke_*(). */
#ifndef ETHOSU_STREAMS_H
#define ETHOSU_STREAMS_H

#include "ethosu_driver.h"

/**
 * Find the program of the inference that drv->job describes, or verify and prepare it. Only the
 * call that has claimed the handle may do so, until its inference has ended.
 *
 * @return  NULL on failure, see the handle's fault
 */
const struct ethosu_ext_program *ethosu_ext_stream_find(struct ethosu_driver *drv);

#endif
