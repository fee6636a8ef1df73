# SPDX-License-Identifier: MIT
"""The image that is flashed."""

IMAGE = bytes(range(256)) * 20
