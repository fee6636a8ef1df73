# SPDX-License-Identifier: MIT
"""Will a compiled model run here? The runtime itself is asked, and a refusal is explained."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import plan, tflite
from .errors import InputError
from .plan.kernels import RENAMING, STATEFUL
from .sim import Simulation, load_library
from .tflite import Graph

# They turn floats to integers and back at the ends of a quantised model.
_ENDS = ("QUANTIZE", "DEQUANTIZE")
_FLOATS = ("float16", "float32", "float64")

QUANTISE = (
    "Quantise it when you convert it: converter.optimizations = [tf.lite.Optimize.DEFAULT]; "
    "converter.representative_dataset = SAMPLES; converter.target_spec.supported_ops = "
    "[tf.lite.OpsSet.TFLITE_BUILTINS_INT8]; converter.inference_input_type = "
    "converter.inference_output_type = tf.int8; or give `ethosu compile` the Keras model, "
    "SavedModel or ONNX file with --calibrate SAMPLES.npz"
)
OTHER_OPERATORS = (
    "Leave them out of the model and compute them in Python, or use others: the runtime's kernels "
    "are those of modules/ethosu/runtime/kernels/kernels.def"
)
OTHER_TYPES = "Convert the model with int8 activations, or int16"
FORCE = "--force writes it for another runtime"


def prepare(source: Path, made: Path, *, cmsis_nn: bool = False) -> dict[str, Any] | None:
    """Plan the memory of CPU operators in the file `made`, and load it as a board does.

    Returns the plan, if there is one. InputError: `source`, as it was before Vela, can't run here;
    it says why, and what to do.
    """
    try:
        planned = None
        if plan.needs_plan(made):
            planned = plan.plan_file(made, made, cmsis_nn=cmsis_nn).as_dict()
        if not cmsis_nn:  # else another library than the board's would load it
            Simulation(made).close()
    except InputError as error:
        raise InputError(f"{source} can't run here: {_explain(source, made, error)}") from error
    return planned


def without_kernel(graph: Graph) -> Counter[str]:
    """Operators that the CPU would have to compute, and no kernel does."""
    library = load_library()
    return Counter(
        each.name
        for each in graph.operators
        if not each.on_npu
        and each.name not in (*RENAMING, *STATEFUL)
        and not hasattr(library, f"kernel_{_symbol(each.name)}")
    )


def _symbol(operator: str) -> str:
    """How the library calls the kernel of an operator: kernels.def."""
    return operator.upper().removeprefix("TFLITE_")


def floats(graph: Graph) -> tuple[str, Counter[str]]:
    """How a model uses floats ("" if it does not), and the operators that compute with them."""
    found: Counter[str] = Counter()
    weights: set[str] = set()
    for operator in graph.operators:
        if operator.on_npu or operator.name == "QUANTIZE":
            continue
        tensors = [graph.tensors[index] for index in operator.inputs if index >= 0]
        weights |= {tensor.dtype for tensor in tensors if tensor.constant}
        if operator.name not in _ENDS and tensors and tensors[0].dtype in _FLOATS:
            found[operator.name] += 1
    if not found:
        return "", found
    if "float16" in weights:
        return "float16 weights, float32 arithmetic", found
    if weights & {"int8", "uint8", "int4"}:
        return "dynamic range: int8 weights, float32 arithmetic", found
    return "float32", found


def _explain(source: Path, made: Path, error: InputError) -> str:
    with tflite.reading(source):
        kind, operators = floats(tflite.parse(tflite.read(source))[0])
    with tflite.reading(made):
        missing = without_kernel(tflite.parse(tflite.read(made))[0])
    reasons = []
    if missing:
        reasons.append(f"no kernel computes {_list(missing)}. {OTHER_OPERATORS}")
    if kind:
        reasons.append(f"it is not quantised ({kind}: {_list(operators)}). {QUANTISE}")
    if not reasons:
        reasons.append(str(error).removeprefix(f"{made}: "))
        reasons += [OTHER_TYPES] if "types" in reasons[0] else []
    return ". ".join([*reasons, FORCE])


def _list(operators: Mapping[str, int]) -> str:
    return ", ".join(f"{name} x {count}" for name, count in operators.items())
