# SPDX-License-Identifier: MIT
"""WebAssembly runs where nothing can be kept, too."""

import wasmtime
from ethosu_tools.base import webassembly

MODULE = '(module (func (export "two") (result i32) (i32.const 2)))'


def test_a_home_without_write_access_only_costs_time(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "/dev/null/absent")
    store = wasmtime.Store(wasmtime.Engine(webassembly.config(wasmtime)))
    instance = wasmtime.Instance(store, wasmtime.Module(store.engine, MODULE), [])
    assert instance.exports(store)["two"](store) == 2
