# SPDX-License-Identifier: MIT
"""Driver, runtime and NPU simulator as a WebAssembly instance in this process, run by wasmtime.

`Library` has the functions, and `Library.ffi` does for its memory what cffi's FFI does for that of
this process; the tools need not distinguish the two.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import struct
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...base import webassembly
from ...base.errors import SetupError
from . import layout
from .values import Value

_32, _64 = 2**32, 2**64


class Library:
    """The functions and the constants of the library."""

    def __init__(self, path: Path, native: Any) -> None:
        """Start an instance; `native` is cffi's FFI with the declarations."""
        try:
            wasmtime: Any = importlib.import_module("wasmtime")
        except ImportError as error:
            raise SetupError(
                "the package wasmtime, which runs the simulator on this system, is not "
                "installed: pip install 'ethosu-tools[wasm]'"
            ) from error
        config = webassembly.config(wasmtime)
        config.memory_reservation = _32  # for all that the instance can address: it never moves
        self._wasmtime = wasmtime
        self._store = wasmtime.Store(wasmtime.Engine(config))
        linker = wasmtime.Linker(self._store.engine)
        linker.define_wasi()
        wasi = wasmtime.WasiConfig()
        wasi.inherit_env()
        wasi.inherit_stderr()
        self._store.set_wasi(wasi)
        module = wasmtime.Module.from_file(self._store.engine, str(path))
        self._exports = linker.instantiate(self._store, module).exports(self._store)
        self._results = {
            name: native.typeof(result) if result != "void" else None
            for name, result in json.loads(path.with_name("exports.json").read_text()).items()
            if name in self._exports
        }
        # An instance has one stack: threads wait for each other, and callbacks may call.
        self._lock = threading.RLock()
        self._base = ctypes.addressof(self._exports["memory"].data_ptr(self._store).contents)
        self._exports["_initialize"](self._store)
        self.ffi = Ffi(self, native)

    def __getattr__(self, name: str) -> Any:
        """Find a function, or a constant of an enumeration."""
        if name in self._results:
            found: Any = self._function(name)
        else:
            try:
                found = self.ffi.native.integer_const(name)
            except (AttributeError, self.ffi.native.error):
                raise AttributeError(f"the library has no {name}") from None
        setattr(self, name, found)
        return found

    def address(self, at: int) -> int:
        """Return where a byte of the instance is in this process."""
        return self._base + at

    def add_function(self, called: Callable[..., None], ctype: Any) -> int:
        """Make a function of Python, which returns nothing, callable; return its number."""
        kinds = [_kind(each, self._wasmtime.ValType) for each in ctype.args]
        function = self._wasmtime.Func(self._store, self._wasmtime.FuncType(kinds, []), called)
        table = self._exports["__indirect_function_table"]
        return int(table.grow(self._store, 1, function))

    def _function(self, name: str) -> Callable[..., Any]:
        function, result = self._exports[name], self._results[name]
        floats = [str(kind) in ("f32", "f64") for kind in function.type(self._store).params]

        def call(*arguments: Any) -> Any:
            kept: list[Any] = []
            given = [
                float(each) if is_float else self.ffi.place(each, kept)
                for each, is_float in zip(arguments, floats, strict=True)
            ]
            with self._lock:
                number = function(self._store, *given)
            return None if result is None else self.ffi.result(result, number)

        return call


class Ffi:
    """What the tools use of cffi's FFI."""

    CData = Value

    def __init__(self, library: Library, native: Any) -> None:
        """Use the instance's memory, with the types of cffi's FFI."""
        self._library, self.native = library, native
        self.error = native.error
        self.address = library.address
        self.NULL = Value(self, native.typeof("void *"), 0)
        self._copies: weakref.WeakValueDictionary[int, Value] = weakref.WeakValueDictionary()

    def typeof(self, what: Any) -> Any:
        """Return the type of a value, or of a declaration."""
        return what._ctype if isinstance(what, Value) else self.native.typeof(what)

    def new(self, declaration: str, content: Any = None) -> Value:
        """Allocate zeroed memory for what a pointer points to, or for an array."""
        ctype = self.native.typeof(declaration)
        if ctype.kind == "array" and ctype.length is None:
            count = content if isinstance(content, int) else len(content)
            content = None if isinstance(content, int) else content
            ctype = self.native.typeof(f"{ctype.item.cname}[{count}]")
        size = layout.of(ctype if ctype.kind == "array" else ctype.item).size
        value = self._allocate(ctype, size)
        ctypes.memset(self.address(int(value)), 0, size)
        if content is not None:
            value.fill(content)
        return value

    def from_buffer(self, data: Any) -> Value:
        """Copy bytes; the copy of the same object is the same while it is in use."""
        copy = self._copies.get(id(data))
        if copy is None:
            copy = self._copy(bytes(data), [data])
            self._copies[id(data)] = copy
        return copy

    def buffer(self, pointer: Value, size: int) -> Any:
        """Return the memory at a pointer; a slice of it is bytes."""
        return pointer.bytes(size)

    def string(self, pointer: Value) -> bytes:
        """Return the bytes up to the first zero."""
        if pointer._ctype.kind == "array":
            return bytes(pointer.bytes(len(pointer)).value)
        return ctypes.string_at(self.address(int(pointer)))

    def memmove(self, target: Value, source: Any, size: int) -> None:
        """Copy bytes of this process, or of the instance, to a pointer."""
        data = source.bytes(size) if isinstance(source, Value) else bytes(source[:size])
        ctypes.memmove(self.address(int(target)), data, size)

    def cast(self, declaration: str, value: Any) -> Any:
        """Convert a pointer to a number or to another pointer."""
        ctype = self.native.typeof(declaration)
        return int(value) if ctype.kind == "primitive" else Value(self, ctype, int(value))

    def callback(self, declaration: str, function: Callable[..., None]) -> Value:
        """Make a function of Python callable; the instance never forgets it."""
        ctype = self.native.typeof(declaration.replace("(", "(*)(", 1))

        def called(*numbers: Any) -> None:
            function(*(self.result(each, n) for each, n in zip(ctype.args, numbers, strict=True)))

        return Value(self, ctype, self._library.add_function(called, ctype))

    def place(self, value: Any, kept: list[Any]) -> int:
        """Return the number of an argument; bytes are copied, and the copies put in `kept`."""
        if isinstance(value, bytes):
            value = self._copy(value + b"\0", [])
        if isinstance(value, Value):
            kept.append(value)
        return int(value)

    def result(self, ctype: Any, number: Any) -> Any:
        """Convert a number of WebAssembly, which has no sign or may be a pointer."""
        each = layout.of(ctype)
        if each.code in ("f", "d"):
            return number
        if ctype.kind not in ("primitive", "enum"):
            return Value(self, ctype, number % _32)
        raw = (number % _64).to_bytes(8, "little")[: each.size]
        return struct.unpack(f"<{each.code}", raw)[0]

    def _copy(self, data: bytes, kept: list[Any]) -> Value:
        value = self._allocate(self.native.typeof("char *"), len(data), kept)
        ctypes.memmove(self.address(int(value)), data, len(data))
        return value

    def _allocate(self, ctype: Any, size: int, kept: list[Any] | None = None) -> Value:
        at = int(self._library.malloc(max(size, 1)))
        if not at:
            raise MemoryError(f"the simulator's instance has no room for {size:,} bytes")
        block = _Block()
        weakref.finalize(block, self._library.free, at).atexit = False
        return Value(self, ctype, at, [block, *(kept or ())])


class _Block:
    """Memory that is freed with the last value that refers to it."""


def _kind(ctype: Any, kinds: Any) -> Any:
    code = layout.of(ctype).code
    by_code = {"f": kinds.f32, "d": kinds.f64, "q": kinds.i64, "Q": kinds.i64}
    return by_code.get(code, kinds.i32)()
