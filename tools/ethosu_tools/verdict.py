# SPDX-License-Identifier: MIT
"""Checks whether a compiled model runs here, by loading it, and explains why if it does not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import plan, tflite
from .errors import CannotRunError, InputError
from .plan.kernels import RENAMING, STATEFUL
from .sim import Simulation
from .tflite import Graph, Operator

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
OTHER_TYPES = "convert the model with int8 or int16 activations"
FORCE = "--force writes it anyway, for another runtime"
_LISTED = 3  # layers of an operator in a message


def prepare(source: Path, compiled: Path, *, cmsis_nn: bool = False) -> dict[str, Any] | None:
    """Plan the memory of CPU operators in the compiled file, and load it as a board does.

    Returns the plan, if any. Raises InputError if the model cannot run here, with the reason and a
    remedy; `source` is the file before Vela.
    """
    try:
        planned = None
        if plan.needs_plan(compiled):
            planned = plan.plan_file(compiled, compiled, cmsis_nn=cmsis_nn).as_dict()
        if not cmsis_nn:  # the library here has no CMSIS-NN
            Simulation(compiled).close()
    except InputError as error:
        text = _explain(source, compiled, error)
        raise CannotRunError(f"{source} can't run here: {text}") from error
    return planned


def without_kernel(graph: Graph) -> list[Operator]:
    """CPU operators without a kernel."""
    return [
        operator
        for operator in graph.operators
        if not operator.on_npu
        and operator.name not in (*RENAMING, *STATEFUL)
        and not operator.known
    ]


def floats(graph: Graph) -> tuple[str, list[Operator]]:
    """How a model uses floats ("" if it does not), and the operators that compute with them."""
    found: list[Operator] = []
    weights: set[str] = set()
    for operator in graph.operators:
        if operator.on_npu or operator.name == "QUANTIZE":
            continue
        tensors = [graph.tensors[index] for index in operator.inputs if index >= 0]
        weights |= {tensor.dtype for tensor in tensors if tensor.constant}
        if operator.name not in _CONVERSIONS and tensors and tensors[0].dtype in _FLOATS:
            found.append(operator)
    if not found:
        return "", found
    if "float16" in weights:
        return "float16 weights, float32 arithmetic", found
    if weights & {"int8", "uint8", "int4"}:
        return "dynamic range: int8 weights, float32 arithmetic", found
    return "float32", found


def _explain(source: Path, compiled: Path, error: InputError) -> str:
    with tflite.reading(source):
        before = tflite.parse(tflite.read(source))[0]
    with tflite.reading(compiled):
        after = tflite.parse(tflite.read(compiled))[0]
    missing = without_kernel(after)
    unknown = {operator.name for operator in missing}
    kind, computing = floats(before)
    # The converter cannot quantise these either and leaves them in floats: not a second reason.
    computing = [operator for operator in computing if operator.name not in unknown]
    reasons, remedies = [], []
    if missing:
        reasons.append(f"no kernel computes {_list(after, missing)}")
        remedies.append(OTHER_OPERATORS)
    if computing:
        reasons.append(f"it is not quantised ({kind}: {_list(before, computing)})")
        remedies.append(QUANTISE)
    if not reasons:
        reasons.append(str(error).removeprefix(f"{compiled}: "))
        remedies += [OTHER_TYPES] if "types" in reasons[0] else []
    lines = (f"  {remedy}" for remedy in (*remedies, FORCE))
    return "\n".join(["; and ".join(reasons), *lines])


def _list(graph: Graph, operators: Sequence[Operator]) -> str:
    """List each kind of operator with the names of its layers."""
    layers: dict[str, list[str]] = {}
    for operator in operators:
        names = [graph.tensors[index].name for index in operator.outputs[:1] if index >= 0]
        layers.setdefault(operator.name, []).append(*(names or ["?"]))
    return ", ".join(
        f"{kind} x {len(names)} ({', '.join(names[:_LISTED])}{', ...' if names[_LISTED:] else ''})"
        for kind, names in layers.items()
    )
