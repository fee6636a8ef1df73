// SPDX-License-Identifier: MIT
/** Constants of the micro frontend, computed and documented by make_tables.py. */
#ifndef MICRO_TABLES_H
#define MICRO_TABLES_H

#include <stdint.h>

/** Slopes of the filters: each ends where the next one begins. */
#define MICRO_SLOPES 41

extern const int16_t micro_window[480];         /**< 4096 is 1 */
extern const int16_t micro_twiddles[504];       /**< complex, 32767 is 1 */
extern const int16_t micro_split_twiddles[256]; /**< complex, 32767 is 1 */
extern const uint8_t micro_filter_starts[MICRO_SLOPES];
extern const uint8_t micro_filter_widths[MICRO_SLOPES];
extern const int16_t micro_filter_weights[236]; /**< 4096 is 1 */
extern const int16_t micro_gains[125];
extern const uint16_t micro_logarithms[130];

#endif
