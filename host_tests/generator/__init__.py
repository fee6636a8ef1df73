# SPDX-License-Identifier: MIT
"""Random TFLite graphs, compiled by Vela, run on the functional NPU, compared with LiteRT."""
