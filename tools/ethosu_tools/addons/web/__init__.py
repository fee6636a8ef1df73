# SPDX-License-Identifier: MIT
"""The board that is a WebAssembly instance, in node."""

OFFERS = {"runner": {"web": "runner:WebRunner"}, "command": {"web": "command"}}
