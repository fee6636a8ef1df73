# SPDX-License-Identifier: MIT
"""The board that is a WebAssembly instance, in node."""

OFFERS = {
    "place": {"web": "the board of `make web` in node"},
    "runner": {"web": "runner:WebRunner"},
    "command": {"web": "command"},
}
