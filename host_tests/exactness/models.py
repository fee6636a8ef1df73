# SPDX-License-Identifier: MIT
"""The models of the matrix, by name: how each is created, and the reference's results."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ethosu_tools.compile.plan import plan_file
from ethosu_tools.model import make_model, tflite
from ethosu_tools.model.samples import wake_words

from host_tests.kit.models import mixed_models
from host_tests.kit.models.reference_cases import Case
from tools.setup import discs

# A function that returns a fixture by its name.
Get = Callable[[str], Any]
# A function that makes a model for an NPU with Vela's options: the file to run, and its case.
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
    """Whether Vela leaves operators to the CPU."""
    planned: bool = True
    """Whether such a compiled model is also planned."""

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


_SMALL = {name: TfliteModel(make, 20) for name, make in make_model.MODELS.items()}
_WAKE_WORDS = {name: TfliteModel(wake_words.load(name).model, 100) for name in wake_words.NAMES}
_NETWORKS = {
    name: TfliteModel(Path(f"{name}.tflite"), 5)
    for name in (
        *("kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8"),
        "hello_world_int8",
    )
}
# TFLite's LSTM has its own tanh and sigmoid, so the NPU differs on extremes (npu_sim/README.md).
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
SMALL, WAKE_WORDS, NETWORKS, MIXED, LEFT = map(
    tuple, (_SMALL, _WAKE_WORDS, _NETWORKS, _MIXED, _LEFT)
)
# Tensors, state, and a real network with operators of all kinds.
SMOKE = (*SMALL, "okay_nabu")
LSTM = "trained_lstm_int8"
MODELS: dict[str, Prepare] = {
    **_SMALL,
    **_WAKE_WORDS,
    **_NETWORKS,
    **_LSTM,
    **_MIXED,
    **_LEFT,
    "discs": TfliteModel(discs.make_model, 5),
}
