# SPDX-License-Identifier: MIT
"""LiteRT in a separate process, because some models make its C++ code abort.

RELEASES compute the reference. 1.2.0 defines it, and has wheels for CPython 3.11 and 3.12. Later
versions of Python use 2.3.0, whose kernels differ in a few operators; litert_rewrite.py replaces
these in the models, so that 2.3.0 computes the same. The installed release is used.
host_tests/tools/ethosu_tools/sim/test_litert.py compares the two. ETHOSU_LITERT names another
release to try, which gets the same models as 2.3.0.

One helper process serves all models, so that its start-up (0.4 s, mostly NumPy) is paid once; each
step costs 0.1 ms more.
"""

from __future__ import annotations

import itertools
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.helper_process import HelperProcess, requests, serve
from .litert_rewrite import rewritten

RELEASES = "1.2.0", "2.3.0"
XNNPACK = "BUILTIN"  # these kernels are only timed

TIMEOUT_S = 600
Array = NDArray[np.generic]
# An interpreter's tensor details: name, shape, type, scale and zero point.
Detail = tuple[str, tuple[int, ...], str, float, int]


class Interpreter:
    """One model in this process."""

    def __init__(self, content: bytes, kernels: str, keep: bool = False) -> None:
        """Load a model; ValueError or RuntimeError if LiteRT rejects it.

        `keep` gives each tensor memory of its own, so that `tensors` has all values.
        """
        self._interpreter = _load(content, kernels, keep)  # LiteRT reports errors
        if kernels != XNNPACK:
            changed = rewritten(content, later=installed() != RELEASES[0])
            if changed is not content:
                self._interpreter = _load(changed, kernels, keep)
        inputs = self._interpreter.get_input_details()
        outputs = self._interpreter.get_output_details()
        self.details = [_detail(each) for each in inputs], [_detail(each) for each in outputs]
        self._input_ids = [each["index"] for each in inputs]
        self._output_ids = [each["index"] for each in outputs]

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """Invoke the model once."""
        for index, array in zip(self._input_ids, inputs, strict=True):
            self._interpreter.set_tensor(index, np.asarray(array, order="C"))
        self._interpreter.invoke()
        return self.tensors(self._output_ids)

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Return values of tensors of the main graph after a step."""
        return [self._interpreter.get_tensor(number) for number in numbers]


def installed() -> str:
    """Return the installed release of LiteRT, or "none"."""
    from importlib import metadata  # slow to load

    try:
        return metadata.version("ai-edge-litert")
    except metadata.PackageNotFoundError:
        return "none"


def _load(content: bytes, kernels: str, keep: bool) -> Any:
    # Imported here so that commands that need no reference start without LiteRT.
    from ai_edge_litert import interpreter

    loaded = interpreter.Interpreter(
        model_content=content,
        experimental_op_resolver_type=interpreter.OpResolverType[kernels],
        num_threads=1,
        experimental_preserve_all_tensors=keep,
    )
    loaded.allocate_tensors()
    return loaded


def _detail(detail: dict[str, Any]) -> Detail:
    scale, zero_point = detail["quantization"]
    shape = tuple(int(size) for size in detail["shape"])
    return detail["name"], shape, np.dtype(detail["dtype"]).name, float(scale), int(zero_point)


class RemoteInterpreter:
    """One model in the child process, with the interface of Interpreter."""

    def __init__(self, content: bytes, kernels: str, keep: bool = False) -> None:
        """Load a model; ValueError if LiteRT rejects it or the child ends."""
        self._child = _Child.shared()
        self._number, self.details = self._child.call("load", content, kernels, keep)
        weakref.finalize(self, self._child.dropped.append, self._number)

    def step(self, inputs: Sequence[Array]) -> list[Array]:
        """Invoke the model once."""
        outputs: list[Array] = self._child.call("step", self._number, list(inputs))
        return outputs

    def tensors(self, numbers: Sequence[int]) -> list[Array]:
        """Return values of tensors after a step."""
        values: list[Array] = self._child.call("tensors", self._number, list(numbers))
        return values


class _Child(HelperProcess):
    """The child process, with all models of this process."""

    MODULE = __name__

    def __init__(self) -> None:
        super().__init__()
        self.dropped: deque[int] = deque()

    def call(self, *request: object) -> Any:
        """Execute a request in the child; ValueError with the reason if it fails."""
        dropped = [self.dropped.popleft() for _ in range(len(self.dropped))]
        try:
            done, answer = self.ask((dropped, request), TIMEOUT_S)
        except TimeoutError as error:
            raise ValueError(str(error)) from None
        if not done:
            raise ValueError(answer)
        return answer


class _Models:
    """The models in the child process, by number."""

    def __init__(self) -> None:
        self._models: dict[int, Interpreter] = {}
        self._numbers = itertools.count(1)

    def respond(self, request: tuple[list[int], tuple[Any, ...]]) -> tuple[bool, object]:
        """Execute a request; returns whether it succeeded, and its result or the reason."""
        dropped, (what, *arguments) = request
        for unused in dropped:
            self._models.pop(unused, None)
        try:
            if what == "load":
                model = Interpreter(*arguments)
                number = next(self._numbers)
                self._models[number] = model
                return True, (number, model.details)
            return True, getattr(self._models[arguments[0]], what)(arguments[1])
        # LiteRT and NumPy raise exceptions of any kind for a bad model.
        except Exception as error:
            return False, str(error) or type(error).__name__


if __name__ == "__main__":
    serve(requests(), _Models().respond)
