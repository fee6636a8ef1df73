# SPDX-License-Identifier: MIT
"""Parts that all other packages use: errors, output, files, processes, locks, the C library."""
