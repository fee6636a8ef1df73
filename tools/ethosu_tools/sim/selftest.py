# SPDX-License-Identifier: MIT
"""Self-test stored in a model: a seed for its inputs, and hashes of the golden outputs.

Golden outputs are those of TFLite's reference kernels for the model before Vela. The metadata
"ethosu_selftest" holds: the mark "EST1", the seed (4 bytes), the number of steps (1 byte), 3 zero
bytes, then for each step a SHA-256 of each output's bytes. Inputs are the seed's noise, in order:
block n, of 32 bytes, is SHA-256(seed, n as 4 bytes, little-endian); each input begins a block.
"""

import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..base.errors import InputError
from ..base.files import write_whole
from ..model import Model, Tensor
from ..model.arrays import Array
from ..model.tflite.metadata import put

NAME = "ethosu_selftest"
MARK = b"EST1"
BLOCK = 32
STEPS = 3


def make(source: Model, *, seed: int = 1, steps: int = STEPS) -> bytes:
    """Make the self-test of a model before Vela."""
    from .oracle import Oracle

    oracle = Oracle(source)
    for tensor in oracle.inputs:
        if np.issubdtype(np.dtype(tensor.dtype), np.floating):
            raise InputError(
                f"input {tensor.name} is {tensor.dtype}: a self-test needs integer inputs, since "
                "its inputs are random bits"
            )
    key = struct.pack("<I", seed)
    blocks = _noise(key)
    content = MARK + key + struct.pack("<B3x", steps)
    for _ in range(steps):
        outputs = oracle.step([_array(blocks, tensor) for tensor in oracle.inputs])
        content += b"".join(hashlib.sha256(output.tobytes()).digest() for output in outputs)
    return content


def add(source: Path, compiled: Path, *, seed: int = 1, steps: int = STEPS) -> int:
    """Store a self-test in a compiled model; returns its bytes."""
    content = make(source, seed=seed, steps=steps)
    write_whole(compiled, put(compiled.read_bytes(), {NAME: content}))
    return len(content)


def _noise(key: bytes) -> Iterator[bytes]:
    position = 0
    while True:
        yield hashlib.sha256(key + struct.pack("<I", position)).digest()
        position += 1


def _array(blocks: Iterator[bytes], tensor: Tensor) -> Array:
    count = -(-tensor.size // BLOCK)
    raw = b"".join(next(blocks) for _ in range(count))[: tensor.size]
    return np.frombuffer(raw, tensor.dtype).reshape(tensor.shape)
