# SPDX-License-Identifier: MIT
"""The simulated NPU, the reference, and what follows from them: needs, fit, latency."""
