# SPDX-License-Identifier: MIT
"""Every tensor of a graph, as the LiteRT of this Python computes it.

As a script it serves another Python: a model and its feeds in, arrays out, until its input ends.
Messages are a length of 8 bytes and a NumPy archive, so that it needs LiteRT and NumPy alone.
"""

from __future__ import annotations

import io
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any

import numpy as np

Arrays = dict[str, np.ndarray]


def tensors(
    model: bytes, feeds: Sequence[Sequence[np.ndarray]], wanted: Sequence[int], kernels: str
) -> list[list[np.ndarray]]:
    """The `wanted` tensors after each feed; RuntimeError or ValueError when LiteRT refuses."""
    interpreter = _interpreter(model, kernels)
    places = [detail["index"] for detail in interpreter.get_input_details()]
    rows = []
    for feed in feeds:
        for place, array in zip(places, feed, strict=True):
            interpreter.set_tensor(place, array)
        interpreter.invoke()
        rows.append([interpreter.get_tensor(index) for index in wanted])
    return rows


def _interpreter(model: bytes, kernels: str) -> Any:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType[kernels],
        experimental_preserve_all_tensors=True,
        num_threads=1,
    )
    interpreter.allocate_tensors()
    return interpreter


def send(pipe: IO[bytes], arrays: Mapping[str, np.ndarray]) -> None:
    """One message."""
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, **arrays)
    content = archive.getvalue()
    pipe.write(struct.pack("<Q", len(content)) + content)
    pipe.flush()


def receive(pipe: IO[bytes]) -> Arrays | None:
    """The next message; None when the other side has ended."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    (length,) = struct.unpack("<Q", head)
    content = pipe.read(length)
    if len(content) < length:
        return None
    with np.load(io.BytesIO(content)) as archive:
        return dict(archive)


def pack(rows: Sequence[Sequence[np.ndarray]]) -> Arrays:
    """Rows of arrays as one message."""
    return {f"{row}_{at}": array for row, line in enumerate(rows) for at, array in enumerate(line)}


def unpack(arrays: Mapping[str, np.ndarray]) -> list[list[np.ndarray]]:
    """The rows of a message; keys of another form are left out."""
    rows: list[list[np.ndarray]] = []
    while f"{len(rows)}_0" in arrays:
        line: list[np.ndarray] = []
        while (array := arrays.get(f"{len(rows)}_{len(line)}")) is not None:
            line.append(array)
        rows.append(line)
    return rows


def _answer(question: Arrays) -> Arrays:
    try:
        rows = tensors(
            question["model"].tobytes(),
            unpack(question),
            question["wanted"].tolist(),
            str(question["kernels"]),
        )
    except (RuntimeError, ValueError) as error:
        return {"error": np.array(" ".join(str(error).split()))}
    return pack(rows)


def main() -> None:
    """Answer questions until the input ends."""
    while (question := receive(sys.stdin.buffer)) is not None:
        send(sys.stdout.buffer, _answer(question))


if __name__ == "__main__":
    main()
