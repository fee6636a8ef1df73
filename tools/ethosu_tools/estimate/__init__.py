# SPDX-License-Identifier: MIT
"""How long an inference takes on a board, said before there is one.

systems.py  NPU, clock and memories of boards and chips
latency.py  the estimate: the simulator's cycles with these memories, its interval, what bounds it
cpu.py      instructions of the CPU, counted on an emulated board
text.py     what a person reads; roofline.py draws a picture
points.py   measured latencies to check it with: points.csv
"""
