# SPDX-License-Identifier: MIT
"""The module's parts in Python, to be frozen into a firmware that has asyncio."""

freeze("binding/python", opt=3)  # noqa: F821  (the manifest's own function)
