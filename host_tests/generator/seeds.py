# SPDX-License-Identifier: MIT
"""Seeds for the fuzz targets of tools/npu_sim/fuzz, from what Vela compiles.

python -m host_tests.generator.seeds --count 400 FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import struct
from collections.abc import Iterator
from pathlib import Path

from host_tests.tools.npu_sim.hardware import configs as npu_configs

from . import case as cases
from . import coverage, isolated, vela
from .builder import UnsuitableError
from .families import FAMILIES

# The stream target's memory, and what its regions are apart (fuzz_stream.c).
_MEMORY = 1 << 13
_REGION = _MEMORY // 16
_LONGEST = 3000


def main() -> None:
    """Write `streams/` and `weights/` below the folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=400)
    arguments = parser.parse_args()
    configs = npu_configs()
    families = list(FAMILIES.values())
    written = 0
    for kind in ("streams", "weights"):
        (arguments.folder / kind).mkdir(parents=True, exist_ok=True)
    for seed in range(arguments.count):
        try:
            case = cases.make(seed // len(families), family=families[seed % len(families)])
            pieces = isolated.call(_pieces, case, configs.index(case.npu))
        except (UnsuitableError, vela.RefusedError, isolated.DiedError):
            continue
        for kind, data in pieces:
            name = hashlib.sha256(data).hexdigest()[:16]
            (arguments.folder / kind / name).write_bytes(data)
            written += 1
    (arguments.folder / "seeds.txt").write_text(f"{written} seeds from {arguments.count} graphs\n")
    print(f"{written} seeds")


def _pieces(case: cases.Case, config: int) -> list[tuple[str, bytes]]:
    model = vela.compile_case(case).model
    constants = coverage.constants(model)
    pieces = []
    for stream in coverage.streams(model):
        if len(stream) <= _LONGEST:
            memory = constants[:_REGION].ljust(_REGION, b"\0") + constants[_REGION:_MEMORY]
            header = struct.pack("<BH", config, len(stream))
            pieces.append(("streams", header + stream + memory[:_MEMORY]))
        pieces += [("weights", data) for data in _weights(stream, constants)]
    return pieces


def _weights(stream: bytes, constants: bytes) -> Iterator[bytes]:
    """Weight streams that lie in region 0."""
    base = region = 0
    for name, param, payload in coverage.commands(stream):
        if name == "WEIGHT_REGION":
            region = param
        elif name == "WEIGHT_BASE":
            base = payload
        elif name == "WEIGHT_LENGTH" and region == 0 and 0 < payload <= 4096:
            yield constants[base : base + payload]


if __name__ == "__main__":
    main()
