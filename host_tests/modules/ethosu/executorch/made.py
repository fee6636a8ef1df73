# SPDX-License-Identifier: MIT
"""Makes ExecuTorch programs from Vela's raw output of a small .tflite.

The reference is TFLite's reference kernels on the .tflite, and the arithmetic of ExecuTorch's
portable quantize_per_tensor and dequantize_per_tensor (kernels/quantized/cpu of
pytorch/executorch 1.5), in NumPy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from ethosu_tools.model import vela_raw
from ethosu_tools.model.arrays import Feed
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.runner import Runner

from host_tests.kit.models import reference_cases
from host_tests.modules.ethosu.executorch.vela_binary import VelaBinary

from .program_writer import Method, Program

QUANTIZE = "quantized_decomposed::quantize_per_tensor"
DEQUANTIZE = "quantized_decomposed::dequantize_per_tensor"
# Channels last: sizes are N, C, H, W; bytes are in the order N, H, W, C.
LAST = (0, 2, 3, 1)
# Vela's options to compile a program, by name.
OPTIONS = {
    "u55": ("--accelerator-config", "ethos-u55-128"),
    "u55 COP2": ("--accelerator-config", "ethos-u55-128", "--cop-format", "COP2"),
    "u65 dedicated": (
        *("--accelerator-config", "ethos-u65-256", "--system-config", "Ethos_U65_High_End"),
        *("--memory-mode", "Dedicated_Sram"),
    ),
    "u65 dedicated COP2": (
        *("--accelerator-config", "ethos-u65-256", "--system-config", "Ethos_U65_High_End"),
        *("--memory-mode", "Dedicated_Sram", "--cop-format", "COP2"),
    ),
    "u85": ("--accelerator-config", "ethos-u85-256"),
    "u85 separate": (
        *("--accelerator-config", "ethos-u85-256", "--cop-format", "COP2"),
        "--separate-io-regions",
    ),
}


def binary(npz: Path) -> VelaBinary:
    """Describe the only command stream in Vela's raw output."""
    return VelaBinary(**vars(vela_raw.read(npz)))


@dataclass(frozen=True)
class End:
    """An input or output: its sizes in the exporter's order, and its quantisation."""

    sizes: tuple[int, ...]
    scale: float
    zero_point: int

    @property
    def order(self) -> tuple[int, ...]:
        return LAST if len(self.sizes) == 4 else tuple(range(len(self.sizes)))


def ends(model: Path) -> tuple[list[End], list[End]]:
    """Return inputs and outputs of a .tflite, with sizes in PyTorch's order."""
    oracle = Oracle(model)

    def end(tensor) -> End:
        n, *rest = tensor.shape
        sizes = (n, rest[-1], *rest[:-1]) if len(rest) == 3 else tensor.shape
        return End(tuple(sizes), tensor.scale, tensor.zero_point)

    return [end(t) for t in oracle.inputs], [end(t) for t in oracle.outputs]


def quantised_ends(
    model: Path, blob: VelaBinary | bytes, *, inline: bool = False, methods: bool = True
) -> Program:
    """Make a program of only one delegate, with integer inputs and outputs."""
    inputs, outputs = ends(model)
    program = Program()
    method = program.forward
    method.inputs = [method.tensor("int8", end.sizes, end.order) for end in inputs]
    method.outputs = [method.tensor("int8", end.sizes, end.order) for end in outputs]
    data = blob if isinstance(blob, bytes) else blob.encode()
    program.delegate(data, [*method.inputs, *method.outputs], inline=inline)
    for name, each in (("input", inputs), ("output", outputs)):
        for index, end in enumerate(each if methods else []):
            program.constant_method(f"{name}{index}_scale", end.scale)
            program.constant_method(f"{name}{index}_zp", end.zero_point)
    return program


def add_quantize(method: Method, source: int, end: End, target: int, name: str = QUANTIZE) -> None:
    numbers = [end.scale, end.zero_point, -128, 127, 1]
    values = [method.number(value) for value in numbers]
    method.kernel(name, [source, *values, target, target])


def add_dequantize(
    method: Method, source: int, end: End, target: int, name: str = DEQUANTIZE
) -> None:
    values = [method.number(value) for value in (end.scale, end.zero_point, -128, 127, 1, None)]
    method.kernel(name, [source, *values, target, target])


def real_ends(model: Path, blob: VelaBinary) -> Program:
    """Make a program with float inputs and outputs that share planned memory, as exporters do."""
    (first,), (last,) = ends(model)
    program = Program()
    method = program.forward
    x = method.tensor("float32", first.sizes, first.order, at=0)
    quantised = method.tensor("int8", first.sizes, first.order)
    result = method.tensor("int8", last.sizes, last.order, at=0)
    y = method.tensor("float32", last.sizes, last.order, at=128)
    method.inputs, method.outputs = [x], [y]
    add_quantize(method, x, first, quantised)
    program.delegate(blob.encode(), [quantised, result])
    add_dequantize(method, result, last, y)
    return program


def bare_ends(model: Path, blob: VelaBinary) -> Program:
    """Make integer inputs and outputs with quantisation only in the first and the last call."""
    (first,), (last,) = ends(model)
    program = Program()
    method = program.forward
    x, quantised = (method.tensor("int8", first.sizes, first.order) for _ in range(2))
    real = method.tensor("float32", first.sizes, first.order)
    result, y = (method.tensor("int8", last.sizes, last.order) for _ in range(2))
    real_result = method.tensor("float32", last.sizes, last.order)
    method.inputs, method.outputs = [x], [y]
    add_dequantize(method, x, first, real)
    add_quantize(method, real, first, quantised)
    program.delegate(blob.encode(), [quantised, result])
    add_dequantize(method, result, last, real_result)
    add_quantize(method, real_result, last, y)
    return program


def external(blob: VelaBinary, key: str) -> bytes:
    """Move the delegate's weights to a data file, under a key of 64 characters."""
    data = moved(blob, weights=key.encode()).encode()
    at = data.index(b"weight_data\0") + 20
    return data[:at] + b"\1" + data[at + 1 :]


def first_sizes(array: np.ndarray) -> np.ndarray:
    """Convert an N, H, W, C shape to sizes as exporters write them: N, C, H, W."""
    return array.transpose(0, 3, 1, 2) if array.ndim == 4 else array


def quantize(x: np.ndarray, end: End) -> np.ndarray:
    inverse = np.float32(1) / np.float32(end.scale)
    steps = np.rint(x.astype(np.float32) * inverse)
    return np.clip(steps + end.zero_point, -128, 127).astype(np.int8)


def dequantize(q: np.ndarray, end: End) -> np.ndarray:
    return (q.astype(np.int32) - end.zero_point).astype(np.float32) * np.float32(end.scale)


@dataclass(frozen=True)
class Case:
    """A program, inputs in its memory order, and the expected outputs."""

    program: bytes
    inputs: Sequence[np.ndarray]
    outputs: Sequence[np.ndarray]


def quantised_case(model: Path, program: bytes, seed: int = 0) -> Case:
    """Make a program with integer inputs and outputs, and TFLite's results."""
    oracle = Oracle(model)
    rng = np.random.default_rng(seed)
    inputs = [rng.integers(-128, 128, t.shape).astype(np.int8) for t in oracle.inputs]
    return Case(program, inputs, oracle.step(inputs))


def real_case(model: Path, program: bytes, seed: int = 0) -> Case:
    """Make a program with float inputs and outputs, and TFLite's results, converted."""
    (first,), (last,) = ends(model)
    oracle = Oracle(model)
    rng = np.random.default_rng(seed)
    spread = 300 * first.scale  # puts some values outside of int8
    x = rng.uniform(-spread, spread, oracle.inputs[0].shape).astype(np.float32)
    x.flat[:3] = np.float32(first.scale) * np.array([0.5, 1.5, 2.5], np.float32)  # ties
    (y,) = oracle.step([quantize(x, first)])
    return Case(program, [x], [dequantize(y, last)])


def samples(model: Path) -> dict[str, np.ndarray]:
    """Make what PyTorch would compute for some samples of a model; see exporter.py."""
    (first,), (last,) = ends(model)
    cases = [quantised_case(model, b"", seed) for seed in range(3)]
    inputs = [first_sizes(dequantize(case.inputs[0], first)) for case in cases]
    outputs = np.stack([dequantize(case.outputs[0], last) for case in cases])
    names = ("eager0", "exported0", "quantised0")
    return {"input0": np.stack(inputs), **{name: outputs.copy() for name in names}}


def check(runner: Runner, case: Case) -> None:
    """Check that a program is exact twice: the second run must not see the first one's data."""
    twice = reference_cases.Case(Path(), [case.inputs] * 2, [case.outputs] * 2)
    feed = Feed(tuple(np.stack([x] * 2) for x in case.inputs), 2, has_time=True)
    reference_cases.assert_exact(twice, runner.run(feed))


def moved(blob: VelaBinary, **changes: object) -> VelaBinary:
    """Change some fields of the data."""
    return replace(blob, **changes)
