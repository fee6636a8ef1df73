# SPDX-License-Identifier: MIT
"""What all other packages use: errors, messages, files, processes, locks, the C library."""
