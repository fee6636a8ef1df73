# SPDX-License-Identifier: MIT
"""ExecuTorch programs, for host_tests/exactness."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.model import ModelFile

from host_tests.exactness.hosts import Row
from host_tests.exactness.models import Get, Prepare
from host_tests.kit import fixtures
from host_tests.kit.models.reference_cases import Case
from host_tests.modules.ethosu.executorch import cortex_m, made


@functools.cache
def _raw(get: Get, how: str) -> made.VelaBinary:
    options = *made.OPTIONS[how], "--output-format", "raw"
    return made.binary(get("vela")(get("small_models")["small_cnn"], *options))


def own_program(make: Callable[..., Any], case: Callable[..., made.Case], how: str) -> Prepare:
    """An ExecuTorch program whose delegate is small_cnn."""

    def prepare(get: Get, name: str, npu: str, options: tuple[str, ...]) -> tuple[Path, Case]:
        source = get("small_models")["small_cnn"]
        return _twice(get, name, case(source, make(source, _raw(get, how)).encode()))

    return prepare


def operator_program(make: Callable[[int], made.Case], seed: int) -> Prepare:
    """An ExecuTorch program with one operator of the CPU."""
    return lambda get, name, npu, options: _twice(get, name, make(seed))


def _twice(get: Get, name: str, case: made.Case) -> tuple[Path, Case]:
    """The second run must not use data of the first."""
    path = get("model_folder") / f"{name.replace(' ', '_')}.pte"
    path.write_bytes(case.program)
    return path, Case(path, [case.inputs] * 2, [case.outputs] * 2)


def exported_program(name: str) -> Prepare:
    """A program that ExecuTorch exported, with PyTorch's results in the program's memory order."""

    def prepare(get: Get, _: str, npu: str, options: tuple[str, ...]) -> tuple[Path, Case]:
        folder = fixtures.shared("executorch", "exported programs") / name
        path = folder / f"{name}.pte"
        method = ModelFile(path).methods["forward"]
        inputs = [np.load(each) for each in sorted(folder.glob("input*.npy"))]
        outputs = [np.load(each) for each in sorted(folder.glob("expected*.npy"))]
        if name.endswith("int8io"):
            io = json.loads((folder / "io_qparams.json").read_text())
            first = made.End((), io["input0_scale"], io["input0_zp"])
            last = made.End((), io["output0_scale"], io["output0_zp"])
            inputs = [made.quantize(x, first) for x in inputs]
            outputs = [made.quantize(y, last) if y.dtype == np.float32 else y for y in outputs]

        def ordered(arrays, values):
            tensors = [method.tensor(index) for index in values]
            return [
                np.ascontiguousarray(array.reshape(tensor.sizes).transpose(tensor.order))
                for array, tensor in zip(arrays, tensors, strict=True)
            ]

        rows = ordered(inputs, method.inputs), ordered(outputs, method.outputs)
        return path, Case(path, *([row] * 2 for row in rows))

    return prepare


PROGRAMS = {
    f"{ends} {how}": own_program(make, case, how)
    for ends, make, case in (
        ("integer", made.quantised_ends, made.quantised_case),
        ("inline", functools.partial(made.quantised_ends, inline=True), made.quantised_case),
        ("real", made.real_ends, made.real_case),
    )
    for how in made.OPTIONS
}
OPERATORS = {
    f"{name} {seed}": operator_program(make, seed)
    for name, make in cortex_m.OPERATORS.items()
    for seed in range(6)
}
EXPORTED = {
    name: exported_program(name)
    for name in (
        *("conv_u55_128", "conv_u55_128_int8io", "conv_u85_256", "dscnn_u55_128"),
        *("mixed_u55_128_cortexm", "twoconv_nchw", "twoconv_nhwc"),
    )
}


def _for(npu: str) -> list[str]:
    return [name for name in PROGRAMS if f" {npu.split('-')[1]}" in name]


HOSTS = {}
MODELS = PROGRAMS | OPERATORS | EXPORTED
_U55, _U65, _U85 = "ethos-u55-128", "ethos-u65-256", "ethos-u85-256"
_EXPORTED_U85 = tuple(name for name in EXPORTED if "u85" in name)
_EXPORTED_U55 = tuple(name for name in EXPORTED if "u85" not in name)
_ON_BOARD = ("conv2d", "add", "activation", "softmax", "batch_matmul", "pad")
ROWS = (
    *(Row("sim", [npu], _for(npu)) for npu in (_U55, _U65, _U85)),
    Row("sim", [_U55], (*OPERATORS, *_EXPORTED_U55)),
    Row("sim", [_U85], _EXPORTED_U85),
    Row("MPS3_AN547", [_U55], ("integer u55", "real u55", *_EXPORTED_U55)),
    Row("MPS3_AN547", [_U65], ("integer u65 dedicated", "real u65 dedicated")),
    Row("MPS3_AN547", [_U85], ("integer u85 separate", "real u85 separate", *_EXPORTED_U85)),
    Row("MPS3_AN547", [_U55], [f"{name} 1" for name in _ON_BOARD]),
    # Where another add-on has the host.
    Row("accel", [_U65], ["real u65 dedicated"]),
    Row("accel", [_U85], ("integer u85 separate", *_EXPORTED_U85)),
)
