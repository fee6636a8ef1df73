# SPDX-License-Identifier: MIT
"""LiteRT in a separate process, because some models make its C++ code abort.

One child serves all models of this process, so that its start-up (0.4 s, mostly NumPy) is paid
once; each step costs 0.1 ms more. If the child ends, its models are lost, and the next model starts
a new one.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]
# An interpreter's tensor details: name, shape, type, scale and zero point.
Detail = tuple[str, tuple[int, ...], str, float, int]


class Interpreter:
    """One model in this process."""

    def __init__(self, content: bytes, kernels: str, keep: bool = False) -> None:
        """Load a model; ValueError or RuntimeError if LiteRT rejects it.

        `keep`: no tensor's memory is used again, so that `tensors` has all values.
        """
        # Imported here so that commands that need no reference start without LiteRT.
        from ai_edge_litert import interpreter

        self._interpreter = interpreter.Interpreter(
            model_content=content,
            experimental_op_resolver_type=interpreter.OpResolverType[kernels],
            num_threads=1,
            experimental_preserve_all_tensors=keep,
        )
        self._interpreter.allocate_tensors()
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        self.details = [_detail(each) for each in inputs], [_detail(each) for each in outputs]
        self._input_ids = [each["index"] for each in inputs]
        self._output_ids = [each["index"] for each in outputs]

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """One invocation."""
        for index, array in zip(self._input_ids, inputs, strict=True):
            self._interpreter.set_tensor(index, np.ascontiguousarray(array))
        self._interpreter.invoke()
        return self.tensors(self._output_ids)

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Values of tensors of the main graph after a step."""
        return [self._interpreter.get_tensor(number) for number in numbers]


def _detail(detail: dict[str, Any]) -> Detail:
    scale, zero_point = detail["quantization"]
    shape = tuple(int(size) for size in detail["shape"])
    return detail["name"], shape, np.dtype(detail["dtype"]).name, float(scale), int(zero_point)


class RemoteInterpreter:
    """One model in the child, with the same interface."""

    def __init__(self, content: bytes, kernels: str, keep: bool = False) -> None:
        """Load a model; ValueError if LiteRT rejects it or the child ends."""
        self._child = _child()
        self._number, self.details = self._child.call("load", content, kernels, keep)
        weakref.finalize(self, self._child.dropped.append, self._number)

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """One invocation."""
        outputs: list[Array] = self._child.call("step", self._number, list(inputs))
        return outputs

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Values of tensors after a step."""
        values: list[Array] = self._child.call("tensors", self._number, list(numbers))
        return values


class _Child:
    """The child process and the connection to it."""

    def __init__(self) -> None:
        self.parent = os.getpid()
        self.dropped: list[int] = []
        self._lock = threading.Lock()
        self._log = tempfile.TemporaryFile(prefix="ethosu-litert-")  # noqa: SIM115
        self._line, theirs = Pipe()
        with theirs:
            # In a separate session, the child does not receive Ctrl-C.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._finalizer = weakref.finalize(self, _stop, self._process, self._line, self._log)

    def usable(self) -> bool:
        """Whether this process can still use it."""
        return self.parent == os.getpid() and self._finalizer.alive

    def call(self, *request: object) -> Any:
        """Execute a request in the child; ValueError with its reason if it fails."""
        with self._lock:
            if not self._finalizer.alive:
                raise ValueError("its process ended while it ran another model")
            dropped, self.dropped[:] = self.dropped[:], []
            try:
                self._line.send((dropped, request))
                done, answer = self._line.recv()
            except (EOFError, OSError):
                raise ValueError(self._end()) from None
            except BaseException:
                self._finalizer()
                raise
        if not done:
            raise ValueError(answer)
        return answer

    def _end(self) -> str:
        """Clean up after a child that ended by itself, and describe its end."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        code = self._process.returncode
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        self._finalizer()
        status = signal.Signals(-code).name if code is not None and code < 0 else f"code {code}"
        return f"its process ended with {status}{f': {lines[-1]}' if lines else ''}"


def _stop(process: subprocess.Popen[bytes], line: Connection[Any, Any], log: IO[bytes]) -> None:
    line.close()
    process.kill()
    process.wait()
    log.close()


_children: list[_Child] = []


def _child() -> _Child:
    """The child of this process; started if necessary."""
    _children[:] = [child for child in _children if child.usable()] or [_Child()]
    return _children[0]


def serve(line: Connection[Any, Any]) -> None:
    """Main loop of the child, until the other end is closed."""
    models: dict[int, Interpreter] = {}
    number = 0
    while True:
        try:
            dropped, (what, *arguments) = line.recv()
        except EOFError:
            return
        for unused in dropped:
            models.pop(unused, None)
        try:
            if what == "load":
                number += 1
                models[number] = Interpreter(*arguments)
                answer: object = number, models[number].details
            else:
                answer = getattr(models[arguments[0]], what)(arguments[1])
            line.send((True, answer))
        # LiteRT and NumPy raise exceptions of any kind for a bad model.
        except Exception as error:
            line.send((False, str(error) or type(error).__name__))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        serve(Connection(int(sys.argv[1])))
