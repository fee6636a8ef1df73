# SPDX-License-Identifier: MIT
"""A board that runs as a WebAssembly instance in node or wasmtime."""

OFFERS = {
    "place": {"web": "the board of `make web` in node or wasmtime"},
    "runner": {"web": "runner:WebRunner"},
    "command": {"web": "command"},
    "files of the wheel for any system": {"web": "build/firmware/WEB/wasmtime.wasm"},
}
