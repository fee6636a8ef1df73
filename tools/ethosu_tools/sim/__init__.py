# SPDX-License-Identifier: MIT
"""The simulated NPU, the reference kernels, and what a model needs and how long it takes."""
