# SPDX-License-Identifier: MIT
"""An inference over time, for viewers of other projects.

processor.py  steps of the CPU, counted on an emulated board
perfetto.py   NPU, its DMA, CPU and interrupts on one time line: Chrome's trace events
overlay.py    read pointer of the NPU over time, for ExecuTorch's Model Explorer script
"""
