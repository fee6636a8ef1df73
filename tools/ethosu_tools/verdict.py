# SPDX-License-Identifier: MIT
"""Checks whether a compiled model runs here, by loading it, and explains why if it does not."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from . import plan
from .errors import CannotRunError, InputError
from .model import Graph, ModelFile, Operator
from .plan import Plan
from .plan.kernels import RENAMING, STATEFUL
from .sim import Simulation

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


def prepare(
    source: ModelFile, made: ModelFile, *, cmsis_nn: bool = False, last: str = ""
) -> tuple[ModelFile, Plan | None]:
    """Plan the memory of CPU operators in the model `made`; returns it with its plan, if any.

    Raises InputError if it cannot run here, with the reason and remedies, the `last` one from the
    caller; `source` is the file before Vela.
    """
    with _explained(source, made, last):
        if not plan.needs_plan(made):
            return made, None
        planned, data = plan.plan_model(made, cmsis_nn=cmsis_nn)
        return made.with_data(data), planned


def check(source: ModelFile, made: ModelFile, *, last: str = "") -> None:
    """Load a model as a board does; raises the same InputError."""
    with _explained(source, made, last):
        Simulation(made).close()


@contextmanager
def _explained(source: ModelFile, made: ModelFile, last: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        text = _explain(source, made, error, last)
        raise CannotRunError(f"{source} can't run here: {text}") from error


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
    before, after = source.graph, made.graph
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
        reasons.append(str(error).removeprefix(f"{made}: "))
        remedies += [OTHER_TYPES] if "types" in reasons[0] else []
    lines = (f"  {remedy}" for remedy in (*remedies, *([last] if last else [])))
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
