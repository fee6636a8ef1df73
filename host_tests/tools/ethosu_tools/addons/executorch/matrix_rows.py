# SPDX-License-Identifier: MIT
"""Programs for test_matrix.py."""

from pathlib import Path

from host_tests.kit import fixtures
from host_tests.modules.ethosu.executorch import program_writer

NAMES = ("program", "unknown")


def make(folder: Path) -> dict[str, Path]:
    """An exported program, and one with an operator that nobody knows."""
    program, unknown = program_writer.Program(), folder / "unknown.pte"
    method = program.forward
    x, y = (method.tensor("float32", (4,)) for _ in "xy")
    method.inputs, method.outputs = [x], [y]
    method.kernel("aten::foo", [x, y])
    unknown.write_bytes(program.encode())
    exported = fixtures.shared("executorch", "exported programs") / "dscnn_u55_128"
    return {"program": next(exported.glob("*.pte")), "unknown": unknown}
