# SPDX-License-Identifier: MIT
"""The models of the matrix, by name: how each is created, and the reference's results."""

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.model import ModelFile, make_model, tflite
from ethosu_tools.model.samples import wake_words

from host_tests.kit import mixed_models
from host_tests.kit.reference_cases import Case
from host_tests.modules.ethosu.runtime.executorch import cortex_m, made
from tools.setup import discs

# Gets a fixture by its name.
Get = Callable[[str], Any]
# Makes a model of this name for an NPU, with options of Vela: the file to run, and its case.
Prepare = Callable[[Get, str, str, tuple[str, ...]], tuple[Path, Case]]

# Operators that only rename or copy bytes.
NOT_COMPUTED = {"CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "RESHAPE"}


@dataclass(frozen=True)
class TfliteModel:
    """A generated model, a file of a package, or the name of a file in `shared_models`."""

    source: Callable[[], bytes] | Path
    steps: int
    extremes: bool = True
    vela: tuple[str, ...] = ()
    on_cpu: bool = False
    """Vela leaves operators to the CPU."""
    planned: bool = True
    """If so, the compiled model is also planned."""

    def file(self, get: Get, name: str) -> Path:
        """The model before Vela."""
        if isinstance(self.source, Path):
            is_whole = self.source.is_absolute()
            return self.source if is_whole else get("shared_models") / self.source
        path = get("model_folder") / f"{name.replace(' ', '_')}.tflite"
        path.write_bytes(self.source())
        return path

    def __call__(
        self, get: Get, name: str, npu: str, options: tuple[str, ...]
    ) -> tuple[Path, Case]:
        """The compiled model and its case."""
        source = self.file(get, name)
        model = get("compiled")(source, npu, *self.vela, *options)
        left = set(tflite.describe(model).cpu_operators) - NOT_COMPUTED
        assert bool(left) == self.on_cpu, left
        if self.on_cpu and self.planned:
            plan_file(model, model)
        return model, get("case_of")(source, self.steps, extremes=self.extremes)


def own_program(make: Callable[..., Any], case: Callable[..., made.Case], how: str) -> Prepare:
    """An ExecuTorch program whose delegate is small_cnn."""

    def prepare(get: Get, name: str, npu: str, options: tuple[str, ...]) -> tuple[Path, Case]:
        source = get("small_models")["small_cnn"]
        return _twice(get, name, case(source, make(source, get("raw")(how)).encode()))

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
        folder = get("shared_programs") / name
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


_SMALL = {name: TfliteModel(make, 20) for name, make in make_model.MODELS.items()}
_WAKE_WORDS = {name: TfliteModel(wake_words.load(name).model, 100) for name in wake_words.NAMES}
_NETWORKS = {
    name: TfliteModel(Path(f"{name}.tflite"), 5)
    for name in (
        *("kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8"),
        "hello_world_int8",
    )
}
# TFLite's LSTM has its own tanh and sigmoid: on the extremes the NPU differs (npu_sim/README.md).
_LSTM = {"trained_lstm_int8": TfliteModel(Path("trained_lstm_int8.tflite"), 5, extremes=False)}
_MIXED = {
    name: TfliteModel(mixed.make, 5, extremes=False, vela=mixed.options, on_cpu=True)
    for name, mixed in mixed_models.MODELS.items()
}
# Layers of our own models that Vela must leave to the CPU.
_LEFT = {
    f"{name} without {kept}": TfliteModel(
        make_model.MODELS[name], 10, extremes=False, vela=("--ignore-ops", kept), on_cpu=True
    )
    for name, kept in (
        ("small_cnn", "CONV_2D"),
        ("small_cnn", "DEPTHWISE_CONV_2D"),
        ("small_cnn", "ADD"),
        ("small_cnn", "AVERAGE_POOL_2D,MAX_POOL_2D"),
        ("small_cnn", "FULLY_CONNECTED,SOFTMAX"),
        ("small_cnn", "RESHAPE,FULLY_CONNECTED"),
        ("small_cnn", "CONV_2D,ADD,SOFTMAX"),
        ("small_streaming", "CONV_2D,CONCATENATION,STRIDED_SLICE"),
    )
}
# None of its operators needs scratch.
_LEFT["small_cnn without ADD or plan"] = TfliteModel(
    make_model.MODELS["small_cnn"], 10, vela=("--ignore-ops", "ADD"), on_cpu=True, planned=False
)
_PROGRAMS = {
    f"{ends} {how}": own_program(make, case, how)
    for ends, make, case in (
        ("integer", made.quantised_ends, made.quantised_case),
        ("inline", functools.partial(made.quantised_ends, inline=True), made.quantised_case),
        ("real", made.real_ends, made.real_case),
    )
    for how in made.OPTIONS
}
_OPERATORS = {
    f"{name} {seed}": operator_program(make, seed)
    for name, make in cortex_m.OPERATORS.items()
    for seed in range(6)
}
_EXPORTED = {
    name: exported_program(name)
    for name in (
        *("conv_u55_128", "conv_u55_128_int8io", "conv_u85_256", "dscnn_u55_128"),
        *("mixed_u55_128_cortexm", "twoconv_nchw", "twoconv_nhwc"),
    )
}

SMALL, WAKE_WORDS, NETWORKS, MIXED, LEFT, PROGRAMS, OPERATORS, EXPORTED = map(
    tuple,
    (_SMALL, _WAKE_WORDS, _NETWORKS, _MIXED, _LEFT, _PROGRAMS, _OPERATORS, _EXPORTED),
)
LSTM = "trained_lstm_int8"
MODELS: dict[str, Prepare] = {
    **_SMALL,
    **_WAKE_WORDS,
    **_NETWORKS,
    **_LSTM,
    **_MIXED,
    **_LEFT,
    "discs": TfliteModel(discs.make_model, 5),
    **_PROGRAMS,
    **_OPERATORS,
    **_EXPORTED,
}
