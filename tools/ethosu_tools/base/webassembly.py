# SPDX-License-Identifier: MIT
"""Settings of wasmtime, which runs WebAssembly of add-ons in this process."""

import contextlib
from typing import Any


def config(wasmtime: Any) -> Any:
    """Return a Config whose engine keeps compiled code for the next process, where it can."""
    settings = wasmtime.Config()
    with contextlib.suppress(wasmtime.WasmtimeError):  # a home without write access, or none
        settings.cache = True
    return settings
