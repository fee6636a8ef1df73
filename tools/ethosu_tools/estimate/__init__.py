# SPDX-License-Identifier: MIT
"""How long an inference takes on a board, said before there is one.

systems.py  NPU, clock and memories of boards and chips
latency.py  the estimate: the simulator's cycles with these memories, its interval, what bounds it
points.py   measured latencies to check it with: points.csv
"""
