# SPDX-License-Identifier: MIT
"""Reads the NPU calls of a compiled model, as passed to the driver, and their commands."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu_tools.model import ModelFile, read_stream

from host_tests.tools.npu_sim.assembler import PAYLOAD


@dataclass(frozen=True)
class Call:
    """An ethos-u operator: payload, contents of region 0, sizes of all regions."""

    payload: bytes
    constants: bytes
    sizes: list[int]

    @property
    def stream(self) -> bytes:
        """The command stream in the payload."""
        return read_stream(self.payload)[1]

    def with_stream(self, stream: bytes) -> bytes:
        """A COP1 payload with another stream: its last action, whose first word has the length."""
        front = self.payload[: self.payload.index(self.stream) - 4]
        words = len(stream) // 4
        action = 2 | words >> 16 << 8 | (words & 0xFFFF) << 16
        return front + action.to_bytes(4, "little") + stream


def npu_calls(compiled: Path | bytes) -> list[Call]:
    """Read the NPU calls in the main graph of a compiled model, a file or its contents."""
    graph = ModelFile.of(compiled).graph
    calls = []
    for operator in graph.operators:
        if operator.on_npu:
            payload, *bases = (graph.tensors[index] for index in operator.arguments)
            sizes = [tensor.size for tensor in bases[:8]]
            calls.append(Call(payload.content, bases[0].content, sizes))
    return calls


@dataclass(frozen=True)
class Command:
    """A command of a stream, at a byte offset; payload: None if it has only one word."""

    offset: int
    code: int
    param: int
    payload: int | None


def commands(stream: bytes) -> Iterator[Command]:
    """Decode the commands of a stream."""
    words = np.frombuffer(stream, np.uint32).tolist()
    at = 0
    while at < len(words):
        code, param = words[at] & 0xFFFF, words[at] >> 16
        payload = words[at + 1] if code & PAYLOAD else None
        yield Command(4 * at, code, param, payload)
        at += 1 if payload is None else 2
