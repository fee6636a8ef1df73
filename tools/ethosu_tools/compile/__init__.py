# SPDX-License-Identifier: MIT
"""Makes a file for an NPU: Vela, other formats, the memory plan, and whether it loads."""
