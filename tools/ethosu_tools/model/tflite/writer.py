# SPDX-License-Identifier: MIT
"""Writes small TFLite files, with the schema classes that come with LiteRT.

A `Graph` collects tensors and operators, `write` turns graphs into the bytes of a `.tflite`. The
first graph is the model, others are called by it (CALL_ONCE). Supports only what this project's
test models need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np

from ...base import other_python
from ...base.errors import SetupError
from .. import TFLITE

__all__ = [
    "OPERATOR_VERSIONS",
    "Graph",
    "builtin",
    "kind_of",
    "operator_code",
    "packed",
    "schema",
    "text",
    "write",
]

SCHEMA_VERSION = 3


class _Schema:
    """LiteRT's classes, loaded on first use: most commands need none."""

    def __getattr__(self, name: str) -> Any:
        try:
            from ai_edge_litert import schema_py_generated
        except ImportError:
            raise SetupError(
                f"this needs LiteRT's schema of models; run: {other_python.install('oracle')}"
            ) from None
        return getattr(schema_py_generated, name)


schema = _Schema()

# The version of each operator that int8 tensors need (default 1).
OPERATOR_VERSIONS = {
    "ADD": 2,
    "AVERAGE_POOL_2D": 2,
    "CONCATENATION": 2,
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
    "LOGISTIC": 2,
    "MAX_POOL_2D": 2,
    "SOFTMAX": 2,
    "STRIDED_SLICE": 2,
}


class Graph:
    """The tensors and operators of one subgraph; tensors are referred to by index."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.tensors: list[tuple[Any, bytes]] = []
        self.operators: list[tuple[str, Any]] = []
        self.versions: dict[str, int] = {}  # of operators that need an unusual version

    def tensor(
        self,
        name: str,
        shape: Sequence[int],
        dtype: str,
        scale: float | np.ndarray | None = None,
        zero_point: int = 0,
        axis: int = 0,
        variable: bool = False,
        data: bytes = b"",
    ) -> int:
        """Add a tensor, a constant with `data`; several scales mean one per channel, along `axis`.

        A `variable` keeps its values between inferences.
        """
        tensor = schema.TensorT()
        tensor.name = name
        tensor.shape = list(shape)
        tensor.type = getattr(schema.TensorType, dtype.upper())
        tensor.isVariable = variable
        if scale is not None:
            scales = np.atleast_1d(np.asarray(scale, np.float32))
            quantization = schema.QuantizationParametersT()
            quantization.scale = scales.tolist()
            quantization.zeroPoint = [zero_point] * len(scales)
            quantization.quantizedDimension = axis
            tensor.quantization = quantization
        self.tensors.append((tensor, data))
        return len(self.tensors) - 1

    def constant(
        self,
        name: str,
        array: np.ndarray,
        scale: float | np.ndarray | None = None,
        zero_point: int = 0,
        axis: int = 0,
    ) -> int:
        """Add a tensor whose values are stored in the file."""
        dtype, data = array.dtype.name, np.asarray(array).tobytes()
        return self.tensor(name, array.shape, dtype, scale, zero_point, axis, data=data)

    def operator(
        self,
        kind: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: str | None = None,
        intermediates: Sequence[int] = (),
        custom_options: bytes = b"",
        **fields: Any,
    ) -> None:
        """Append an operator; `options` names the options table, `fields` are its contents.

        A kind missing in the schema is a custom operator, which takes `custom_options`.
        """
        operator = schema.OperatorT()
        if custom_options:
            operator.customOptions = np.frombuffer(custom_options, np.uint8)
        operator.intermediates = list(intermediates)
        operator.inputs = list(inputs)
        operator.outputs = list(outputs)
        if options is not None:
            table = getattr(schema, options + "T")()
            for name, value in fields.items():
                if not hasattr(table, name):
                    raise AttributeError(f"{options} has no field {name}")
                setattr(table, name, value)
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            operator.builtinOptions = table
        self.operators.append((kind, operator))


def write(graphs: Sequence[Graph], description: str) -> bytes:
    """Encode a model whose main subgraph is the first of `graphs`."""
    kinds = sorted({kind for graph in graphs for kind, _ in graph.operators})
    model = schema.ModelT()
    model.version = SCHEMA_VERSION
    model.description = description
    versions = dict(OPERATOR_VERSIONS)
    for graph in graphs:
        versions.update(graph.versions)
    model.operatorCodes = [operator_code(kind, versions.get(kind, 1)) for kind in kinds]
    model.buffers = [schema.BufferT()]  # buffer 0 is empty by definition
    model.subgraphs = [_subgraph(graph, kinds, model.buffers) for graph in graphs]
    return packed(model)


def packed(model: Any) -> bytes:
    """Encode the schema's object of a model."""
    builder = flatbuffers.Builder(4096)
    builder.Finish(model.Pack(builder), TFLITE.mark)
    return bytes(builder.Output())


def text(name: Any) -> str:
    """Decode a text of the schema's objects, which LiteRT reads as bytes."""
    return name.decode(errors="replace") if isinstance(name, bytes) else str(name or "")


def builtin(code: Any) -> str:
    """Return an operator code's name in the schema, "CUSTOM" for custom ones; "" if unknown."""
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    names = vars(schema.BuiltinOperator).items()
    return next((name for name, value in names if value == number), "")


def kind_of(code: Any) -> str:
    """Return an operator code's name, as `Graph.operator` takes it; "" if unknown."""
    name = builtin(code)
    return text(code.customCode) if name == "CUSTOM" else name


def operator_code(kind: str, version: int | None = None) -> Any:
    """Make an operator code; version None selects the version that int8 tensors need."""
    code = schema.OperatorCodeT()
    code.builtinCode = getattr(schema.BuiltinOperator, kind, schema.BuiltinOperator.CUSTOM)
    if code.builtinCode == schema.BuiltinOperator.CUSTOM:
        code.customCode = kind
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    code.version = OPERATOR_VERSIONS.get(kind, 1) if version is None else version
    return code


def _subgraph(graph: Graph, kinds: list[str], buffers: list[Any]) -> Any:
    subgraph = schema.SubGraphT()
    subgraph.name = graph.name
    subgraph.inputs = graph.inputs
    subgraph.outputs = graph.outputs
    subgraph.tensors = []
    for tensor, data in graph.tensors:
        buffer = schema.BufferT()
        if data:
            buffer.data = np.frombuffer(data, np.uint8)
        tensor.buffer = len(buffers)
        buffers.append(buffer)
        subgraph.tensors.append(tensor)
    subgraph.operators = []
    for kind, operator in graph.operators:
        operator.opcodeIndex = kinds.index(kind)
        subgraph.operators.append(operator)
    return subgraph
