# SPDX-License-Identifier: MIT
"""A board that runs as a WebAssembly instance in node."""

OFFERS = {
    "place": {"web": "the board of `make web` in node"},
    "runner": {"web": "runner:WebRunner"},
    "command": {"web": "command"},
}
