// SPDX-License-Identifier: MIT
/** A cache hook with the signature from before version 1.0; it must not compile. */
#include <ethosu_driver.h>

void ethosu_flush_dcache(uint32_t *p, size_t bytes)
{
    (void)p;
    (void)bytes;
}
