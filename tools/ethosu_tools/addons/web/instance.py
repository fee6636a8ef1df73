# SPDX-License-Identifier: MIT
"""The board WEB in this process, run by wasmtime; the console is a TCP port of this computer.

    python -m ethosu_tools.addons.web.instance wasmtime.wasm NPU[,NPU] ROMFS

It prints the number of the port, and ends with its standard input. tools/web/board/host.h declares
what the board asks for; js/board.mjs gives the same in node and in a page.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

# wasmtime's limit is 2 MiB, node's is 1 MiB; a main thread of Windows has no room for it.
_STACK_OF_WASM, _STACK = 3 << 19, 16 << 20
# Output that is kept while no program has the port open.
_KEPT = 1 << 16
_POWER_ON = 0
# Memories whose content survives a reset.
_AREAS = "_romfs", "_ramdisk"


class _ResetError(Exception):
    def __init__(self, cause: int) -> None:
        self.cause = cause


class Console:
    """The console, for one program at a time."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0), backlog=1)
        self.port: int = self._server.getsockname()[1]
        self._line: socket.socket | None = None
        self._received, self._kept = bytearray(), b""
        self._lock, self._arrived = threading.Lock(), threading.Event()
        threading.Thread(target=self._follow, daemon=True).start()

    def read(self, size: int) -> bytes:
        """Take what has arrived."""
        if not self._received:  # the usual case, at the cost of nothing
            return b""
        with self._lock:
            data = bytes(self._received[:size])
            del self._received[:size]
            if not self._received:
                self._arrived.clear()
        return data

    def write(self, data: bytes) -> None:
        """Send; without a program at the other end, keep the last output for the next one."""
        with self._lock:
            line = self._line
            if line is None:
                self._kept = (self._kept + data)[-_KEPT:]
        if line:
            with contextlib.suppress(OSError):  # the program has ended
                line.sendall(data)

    def wait(self, seconds: float) -> None:
        """Wait for input, for at most this time."""
        self._arrived.wait(seconds)

    def _follow(self) -> None:
        while True:
            line, _ = self._server.accept()
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with line, contextlib.suppress(OSError):
                with self._lock:
                    line.sendall(self._kept)
                    self._line, self._kept = line, b""
                while data := line.recv(1 << 16):
                    with self._lock:
                        self._received += data
                        self._arrived.set()
            with self._lock:
                self._line = None


class Instance:
    """The board, across resets."""

    def __init__(self, image: Path, npus: list[bytes], romfs: bytes, console: Console) -> None:
        """Compile the board; wasmtime keeps the result for the next one."""
        import wasmtime

        config = wasmtime.Config()
        config.cache = True
        config.wasm_exceptions = config.wasm_gc = config.wasm_function_references = True
        config.max_wasm_stack = _STACK_OF_WASM
        self._wasmtime: Any = wasmtime
        self._engine = wasmtime.Engine(config)
        self._module = wasmtime.Module.from_file(self._engine, str(image))
        self._npus, self._console = npus, console
        self._contents = {"_romfs": romfs}
        self._high = 0

    def run(self) -> None:
        """Run for ever."""
        cause = _POWER_ON
        while True:
            store = self._start(cause)
            try:
                self._exports["start"](store)
                raise RuntimeError("the board's program has ended")
            except _ResetError as reset:
                cause = reset.cause
            self._contents = {name: self._area(store, name)[:] for name in _AREAS}

    def _start(self, cause: int) -> Any:
        store = self._wasmtime.Store(self._engine)
        linker = self._wasmtime.Linker(self._engine)
        own = {
            "getTempRet0": lambda: self._high,
            "setTempRet0": lambda value: setattr(self, "_high", value),
            "now": lambda: time.perf_counter() * 1000,
            "epoch": time.time,
            "write": lambda at, size: self._console.write(self._bytes(at, size)[:]),
            "read": lambda at, size: self._put(at, self._console.read(size)),
            "sleep": lambda ms: self._console.wait(ms / 1000),
            "npu": lambda index, at, size: self._put(at, b"".join(self._npus[index : index + 1])),
            "memories": lambda at, room: 0,
            "feed": lambda source, at, size: 0,
            "show": lambda at, size: None,
            "reset": self._reset,
            "reset_cause": lambda: cause,
        }
        for each in self._module.imports:
            linker.define_func(each.module, each.name, each.type, own[each.name or ""])
        self._exports = linker.instantiate(store, self._module).exports(store)
        memory = self._exports["memory"]
        self._base = ctypes.addressof(memory.data_ptr(store).contents)  # it never grows
        self._exports["_initialize"](store)
        for name, content in self._contents.items():
            self._area(store, name)[: len(content)] = content
        return store

    def _bytes(self, at: int, size: int) -> Any:
        return (ctypes.c_char * size).from_address(self._base + (at & 0xFFFFFFFF))

    def _put(self, at: int, data: bytes) -> int:
        self._bytes(at, len(data))[:] = data
        return len(data)

    def _area(self, store: Any, name: str) -> Any:
        start, end = (self._exports[f"{name}{at}"].value(store) for at in ("_start", "_end"))
        return self._bytes(start, end - start)

    def _reset(self, cause: int) -> None:
        raise _ResetError(cause)


def _run(words: list[str]) -> None:
    try:
        image, npus, romfs = words
        console = Console()
        names = [name.encode() for name in npus.split(",")]
        instance = Instance(Path(image), names, Path(romfs).read_bytes(), console)
        print(console.port, flush=True)
        instance.run()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the command that has started this
    threading.stack_size(_STACK)
    threading.Thread(target=_run, args=[sys.argv[1:]], daemon=True).start()
    sys.stdin.buffer.read()
