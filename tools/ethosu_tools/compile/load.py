# SPDX-License-Identifier: MIT
"""Checks whether a compiled model runs here, by loading it, and explains why if it does not."""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from ..base.errors import CannotRunError, InputError
from ..boards import VelaFacts
from ..boards.systems import System
from ..model import Graph, ModelFile, Operator, ProgramDescription, Tensor
from ..model.tflite import detections
from ..sim.simulation import Simulation
from . import instead, plan, vela
from .plan import Plan
from .plan.kernels import needs_kernel

# Operators that convert the inputs and outputs of a quantised model.
_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")
_FLOATS = ("float16", "float32", "float64")

QUANTISE = """\
quantise it when you convert it:
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = SAMPLES
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
  or give `ethosu compile` the Keras model, SavedModel or ONNX file with --calibrate SAMPLES.npz"""
OTHER_OPERATORS = """\
remove them from the model and compute them in Python, or use other operators;
  modules/ethosu/runtime/kernels/kernels.def in the source tree lists the supported ones"""
OTHER_ATEN = """\
leave them out of forward() and compute them in Python, or use other operators;
  "Supported programs" on the page of PyTorch lists those of the CPU"""
OTHER_TYPES = "convert the model with {} activations"
OLD_UINT8 = """\
uint8 is TensorFlow Lite's older quantisation: a finished file can't be changed, so quantise the
  original model again, or use another file of it, with int8"""
ONE_SHAPE = "let one operator read the value: remove the RESHAPE (or SQUEEZE, ...) or the other one"
FORCE = "--force writes it anyway, for another runtime"
_LISTED = 3  # a message names at most this many layers of an operator


def compile_for(file: ModelFile, system: System) -> ModelFile:
    """Compile and plan a model for a system; a compiled model is returned unchanged."""
    if file.description.compiled:
        return file
    made = _by_vela(file, system.npu, system.facts).file
    return _prepared(file, made)


def leftover_of(file: ModelFile, system: System) -> list[dict[str, Any]]:
    """List what Vela leaves to the CPU, as plain data; empty for a compiled model."""
    if file.description.compiled:
        return []
    found: list[dict[str, Any]] = _by_vela(file, system.npu, system.facts).facts["leftover"]
    return found


@lru_cache(maxsize=32)
def _by_vela(file: ModelFile, npu: str, facts: VelaFacts) -> vela.Compiled:
    """Compile once for all systems with the same NPU and Vela settings."""
    return vela.compiled(file, npu, board=facts)


@lru_cache(maxsize=32)
def _prepared(source: ModelFile, made: ModelFile) -> ModelFile:
    return prepare(source, made)[0]


def prepare(
    source: ModelFile,
    made: ModelFile,
    *,
    cmsis_nn: bool = False,
    overlap: bool = False,
    last: str = "",
) -> tuple[ModelFile, Plan | None]:
    """Plan the memory of CPU operators in the model `made`; returns it with its plan, if any.

    Raises InputError with the reason and remedies if the model cannot run here; `last` is the
    caller's remedy. `source` is the file before Vela.
    """
    with _explained(source, made, last):
        if not plan.needs_plan(made):
            return made, None
        planned, data = plan.plan_model(made, overlap=overlap, cmsis_nn=cmsis_nn)
        return made.with_data(data), planned


def check(source: ModelFile, made: ModelFile, *, last: str = "") -> None:
    """Load a model as a board does; raises InputError as `prepare` does."""
    with _explained(source, made, last):
        Simulation(made).close()


def check_program(program: ModelFile, *, last: str = "") -> None:
    """Reject an exported program with operators that no kernel computes, with remedies."""
    found = program.description
    if not isinstance(found, ProgramDescription) or not found.missing:
        return
    missing = ", ".join(f"{each.name} x {each.calls}" for each in found.cpu if not each.known)
    where = "" if found.npu else ", and nothing runs on the NPU"
    lines = [f"  {line}" for line in (OTHER_ATEN, *([last] if last else []))]
    reason = f"{program} can't run here: no kernel computes {missing}{where}"
    raise CannotRunError("\n".join([reason, *lines]))


@contextmanager
def _explained(source: ModelFile, made: ModelFile, last: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        text = _explain(source, made, error, last)
        raise CannotRunError(f"{source} can't run here: {text}") from error


def without_kernel(graph: Graph) -> list[Operator]:
    """List the CPU operators without a kernel."""
    computed = (graph.operators[index] for index in needs_kernel(graph))
    return [operator for operator in computed if not operator.known]


def floats(graph: Graph) -> tuple[str, list[Operator]]:
    """Describe a model's use of floats ("" if none), and list the operators that compute them."""
    operators: list[Operator] = []
    weights: set[str] = set()
    for operator in graph.operators:
        if operator.on_npu or operator.name == "QUANTIZE":
            continue
        tensors = [graph.tensors[index] for index in operator.inputs if index >= 0]
        weights |= {tensor.dtype for tensor in tensors if tensor.constant}
        if operator.name not in _CONVERSIONS and tensors and tensors[0].dtype in _FLOATS:
            operators.append(operator)
    if not operators:
        return "", operators
    if "float16" in weights:
        return "float16 weights, float32 arithmetic", operators
    if weights & {"int8", "uint8", "int4"}:
        return "dynamic range: int8 weights, float32 arithmetic", operators
    return "float32", operators


def _explain(source: ModelFile, made: ModelFile, error: InputError, last: str) -> str:
    before, after = detections.with_shapes(source).graph, made.graph
    missing = without_kernel(after)
    unknown = {operator.name for operator in missing}
    kind, computing = floats(before)
    # Operators without a kernel are floats because the converter cannot quantise them either.
    computing = [operator for operator in computing if operator.name not in unknown]
    reasons, remedies = [], []
    said = str(error).removeprefix(f"{made}: ")
    if not said.startswith("operator "):
        missing, computing = [], []  # the runtime refused something else
    if missing:
        reasons.append(f"no kernel computes {_list(after, missing, typed=True)}")
        advice, others = instead.lines(operator.name for operator in missing)
        remedies += [textwrap.fill(line, 98, subsequent_indent="    ") for line in advice]
        remedies += [OTHER_OPERATORS] if others else []
    if computing:
        reasons.append(f"it is not quantised ({kind}: {_list(before, computing)})")
        remedies.append(QUANTISE)
    swapped = "" if reasons else _swapped(before, after)
    if swapped:
        reasons.append(swapped)
        remedies.append(ONE_SHAPE)
    if not reasons:
        reasons.append(said)
        remedies += _other_types(said)
    lines = (f"  {remedy}" for remedy in (*remedies, *([last] if last else [])))
    return "\n".join(["; and ".join(reasons), *lines])


def _other_types(reason: str) -> list[str]:
    """Return advice if the reason is that a kernel rejects the types of its operands."""
    _, found, types = reason.partition("does not support these types")
    if "uint8" in types:
        return [OLD_UINT8]
    return [OTHER_TYPES.format("int8" if "int16" in types else "int8 or int16")] if found else []


def _swapped(before: Graph, after: Graph) -> str:
    """Find a CPU operator to which Vela gave a tensor of another shape than the model's; or ""."""
    for operator in after.operators:
        twins = [] if operator.on_npu else [o for o in before.operators if o.name == operator.name]
        for twin in twins:
            for same, other in (("inputs", "outputs"), ("outputs", "inputs")):
                pairs = zip(getattr(twin, other), getattr(operator, other), strict=False)
                if _names(before, getattr(twin, same)) != _names(after, getattr(operator, same)):
                    continue
                for had, has in pairs:
                    old, new = before.tensors[had], after.tensors[has]
                    if min(had, has) >= 0 and old.shape != new.shape:
                        return (
                            f"Vela gives {operator.name} '{new.name}' of {_shape(new)} instead of "
                            f"'{old.name}' of {_shape(old)}: its known defect "
                            "`shared-between-shapes`, a value that is used in two shapes"
                        )
    return ""


def _names(graph: Graph, tensors: Sequence[int]) -> list[str]:
    return [graph.tensors[index].name for index in tensors if index >= 0]


def _shape(tensor: Tensor) -> str:
    return "x".join(map(str, tensor.shape))


def _list(graph: Graph, operators: Sequence[Operator], *, typed: bool = False) -> str:
    """List each kind of operator with the names of its layers; `typed` marks float operators."""
    layers: dict[str, list[str]] = {}
    for operator in operators:
        names = [graph.tensors[index].name for index in operator.outputs[:1] if index >= 0]
        types = [graph.tensors[index].dtype for index in operator.inputs[:1] if index >= 0]
        of = f" of {types[0]}" if typed and types and types[0] in _FLOATS else ""
        layers.setdefault(operator.name + of, []).append(*(names or ["?"]))
    return ", ".join(
        f"{kind} x {len(names)} ({', '.join(names[:_LISTED])}{', ...' if names[_LISTED:] else ''})"
        for kind, names in layers.items()
    )
