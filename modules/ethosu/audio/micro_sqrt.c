// SPDX-License-Identifier: MIT
/** Square roots of integers: an estimate in floating point, corrected. */
#include "micro_sqrt.h"

#include <math.h>

uint32_t micro_sqrt(uint64_t number)
{
    uint64_t root = (uint64_t)sqrtf((float)number);
    if (root > UINT16_MAX) {
        // The estimate has 24 bits; one step of Newton's method gives the others.
        int64_t rest = (int64_t)(number - root * root);
        root += (uint64_t)(int64_t)((float)rest / (float)(2 * root));
    }
    root = root > UINT32_MAX ? UINT32_MAX : root;
    while (root * root > number) {
        root--;
    }
    while (root < UINT32_MAX && (root + 1) * (root + 1) <= number) {
        root++;
    }
    uint64_t most = number > UINT32_MAX ? UINT32_MAX : UINT16_MAX;
    return (uint32_t)(number - root * root > root && root < most ? root + 1 : root);
}
