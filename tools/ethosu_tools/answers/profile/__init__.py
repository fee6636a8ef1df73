# SPDX-License-Identifier: MIT
"""Where the time of an inference goes, for `ethosu profile`.

operations.py     what the NPU does, operation by operation
measured.py       times, counters and work, measured on a board
side_by_side.py   two models, or one on two NPUs, layer by layer
"""
