# SPDX-License-Identifier: MIT
"""Estimates how long an inference takes on a board, without the board.

systems.py  NPU, clock and memories of boards and chips
latency.py  the estimate: the simulator's cycles with these memories, its interval, its bounds
cpu.py      instructions of the CPU, counted on an emulated board
text.py     formats an estimate as text; roofline.py as a picture
points.py   measured latencies to check it against: points.csv
"""
