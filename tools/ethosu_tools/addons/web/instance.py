# SPDX-License-Identifier: MIT
"""The board WEB in this process, run by wasmtime; the console is a TCP port of this computer.

    python -m ethosu_tools.addons.web.instance wasmtime.wasm NPU[,NPU] ROMFS

It prints the number of the port, and ends with its standard input, whose first line is the word
that a program at the port must send first; empty: none. tools/web/board/host.h declares what the
board asks for; js/board.mjs gives the same in node and in a page.
"""

from __future__ import annotations

import contextlib
import ctypes
import hmac
import os
import re
import signal
import socket
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

from ...base import webassembly

# wasmtime's limit is 2 MiB, node's is 1 MiB; a main thread of Windows has no room for it.
_STACK_OF_WASM, _STACK = 3 << 19, 16 << 20
# Output that is kept while no program has the port open, and input while the board reads none.
_KEPT = 1 << 16
# The word comes at once: the link sends it when it opens the port.
_WORD_S = 1.0
# How a web page's requests begin, which reach this port, too: HTTP, TLS, and WebRTC over TCP.
_OF_PAGES = re.compile(rb"[A-Za-z]+ /|[\x00\x16]")
_U32 = 0xFFFFFFFF
_POWER_ON = 0
# Memories whose content survives a reset.
_AREAS = "_romfs", "_ramdisk"


class _ResetError(Exception):
    def __init__(self, cause: int) -> None:
        self.cause = cause


class _OutsideError(Exception):
    """The board's program passed memory that it does not have."""


class Console:
    """The console, for one program at a time, which must send `word` first."""

    def __init__(self, word: bytes) -> None:
        self._word = word
        self._server = socket.create_server(("127.0.0.1", 0), backlog=1)
        self.port: int = self._server.getsockname()[1]
        self._line: socket.socket | None = None
        self._received, self._kept = bytearray(), b""
        self._lock, self._arrived = threading.Lock(), threading.Event()
        self._has_room = threading.Condition(self._lock)
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
            self._has_room.notify()
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
            with line, contextlib.suppress(OSError):
                if self._knows_word(line):
                    self._serve(line)
            with self._lock:
                self._line = None

    def _knows_word(self, line: socket.socket) -> bool:
        line.settimeout(_WORD_S)
        received = line.recv(len(self._word)) if self._word else b""
        line.settimeout(None)
        return hmac.compare_digest(received, self._word)

    def _serve(self, line: socket.socket) -> None:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            line.sendall(self._kept)
            self._line, self._kept = line, b""
        data = line.recv(_KEPT)
        if _OF_PAGES.match(data):
            return
        while data:
            with self._lock:
                self._received += data
                self._arrived.set()
                self._has_room.wait_for(lambda: len(self._received) < _KEPT)
            data = line.recv(_KEPT)


class Instance:
    """The board, across resets."""

    def __init__(self, image: Path, npus: list[bytes], romfs: bytes, console: Console) -> None:
        """Compile the board; wasmtime keeps the result for the next one."""
        import wasmtime

        config = webassembly.config(wasmtime)
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
            "read": lambda at, size: self._put(at, self._console.read(size & _U32)),
            "sleep": lambda ms: self._console.wait(ms / 1000),
            "npu": self._npu,
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
        self._base = ctypes.addressof(memory.data_ptr(store).contents)
        self._size = memory.data_len(store)  # it never grows
        self._exports["_initialize"](store)
        for name, content in self._contents.items():
            self._area(store, name)[: len(content)] = content
        return store

    def _bytes(self, at: int, size: int) -> Any:
        at, size = at & _U32, size & _U32
        if at + size > self._size:
            raise _OutsideError(
                f"the board's program passed {size:,} bytes at {at:#x}, but its memory has "
                f"{self._size:,}"
            )
        return (ctypes.c_char * size).from_address(self._base + at)

    def _put(self, at: int, data: bytes) -> int:
        if data:
            self._bytes(at, len(data))[:] = data
        return len(data)

    def _npu(self, index: int, at: int, size: int) -> int:
        name = self._npus[index] if 0 <= index < len(self._npus) else b""
        return self._put(at, name[: size & _U32])

    def _area(self, store: Any, name: str) -> Any:
        start, end = (self._exports[f"{name}{at}"].value(store) for at in ("_start", "_end"))
        return self._bytes(start, end - start)

    def _reset(self, cause: int) -> None:
        raise _ResetError(cause)


def _run(words: list[str], word: bytes) -> None:
    try:
        image, npus, romfs = words
        console = Console(word)
        names = [name.encode() for name in npus.split(",")]
        instance = Instance(Path(image), names, Path(romfs).read_bytes(), console)
        print(console.port, flush=True)
        instance.run()
    except _OutsideError as error:
        print(error, file=sys.stderr, flush=True)
        os._exit(1)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for the command that has started this
    threading.stack_size(_STACK)
    asked = sys.stdin.buffer.readline().strip()  # no other user sees it, unlike the command line
    threading.Thread(target=_run, args=[sys.argv[1:], asked], daemon=True).start()
    sys.stdin.buffer.read()
