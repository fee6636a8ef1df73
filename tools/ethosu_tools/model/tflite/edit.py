# SPDX-License-Identifier: MIT
"""Replaces operators of a `.tflite` by others, with the schema classes that come with LiteRT."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import DTYPES
from .writer import Graph, builtin, operator_code, packed, schema, text


class Document:
    """A model whose main graph can be changed."""

    def __init__(self, data: bytes) -> None:
        """Read the whole file."""
        self.model = schema.ModelT.InitFromPackedBuf(data, 0)
        self.graph = self.model.subgraphs[0]

    def kind(self, operator: Any) -> str:
        """Return the schema's name of an operator; "CUSTOM" for all custom operators."""
        return builtin(self.model.operatorCodes[operator.opcodeIndex])

    def at(self, index: int) -> Site:
        """Return the site of an operator, to replace it."""
        return Site(self, self.graph.operators[index])

    def replace(self, index: int, site: Site) -> None:
        """Put the new operators of a site in the place of operator `index`."""
        for tensor, data in site.tensors:
            buffer = schema.BufferT()
            if data:
                buffer.data = np.frombuffer(data, np.uint8)
            tensor.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
            self.graph.tensors.append(tensor)
        for kind, operator in site.operators:
            operator.opcodeIndex = self._code(kind)
        self.graph.operators[index : index + 1] = [operator for _, operator in site.operators]

    def data(self) -> bytes:
        """Encode the changed file."""
        return packed(self.model)

    def _code(self, kind: str) -> int:
        """Return the number of an operator code; add it if absent or of an older version."""
        new = operator_code(kind)
        for index, code in enumerate(self.model.operatorCodes):
            known = max(code.builtinCode, code.deprecatedBuiltinCode)
            if known == new.builtinCode and code.version >= new.version:
                return index
        self.model.operatorCodes.append(new)
        return len(self.model.operatorCodes) - 1


class Site(Graph):
    """An operator, and the operators and tensors that are to replace it.

    Numbers of tensors are those of the model; new ones follow.
    """

    def __init__(self, document: Document, operator: Any) -> None:
        """Look at an operator of a document."""
        super().__init__("")
        self._document = document
        self._base = len(document.graph.tensors)
        self.old = operator
        self.options = operator.builtinOptions
        self.source: int = int(operator.inputs[0])
        self.target: int = int(operator.outputs[0])

    def input(self, position: int) -> int:
        """Return the tensor of an input; -1 if absent."""
        inputs = self.old.inputs
        return int(inputs[position]) if position < len(inputs) else -1

    def find(self, tensor: int) -> Any:
        """Return the schema's object of a tensor, old or new."""
        if tensor < self._base:
            return self._document.graph.tensors[tensor]
        return self.tensors[tensor - self._base][0]

    def shape(self, tensor: int) -> tuple[int, ...]:
        """The shape of a tensor."""
        shape = self.find(tensor).shape
        return () if shape is None else tuple(int(size) for size in shape)

    def dtype(self, tensor: int) -> str:
        """NumPy's name of a tensor's type."""
        return DTYPES.get(self.find(tensor).type, "")

    def scale(self, tensor: int) -> float:
        """Return the scale of a tensor that has a single one."""
        return float(self.find(tensor).quantization.scale[0])

    def array(self, tensor: int) -> np.ndarray | None:
        """Return a constant's values; None if the tensor is not constant or of another type."""
        data = self._document.model.buffers[self.find(tensor).buffer].data
        dtype = self.dtype(tensor)
        if data is None or len(data) == 0 or not dtype:
            return None
        content = np.asarray(data, np.uint8).tobytes()
        return np.frombuffer(content, dtype).reshape(self.shape(tensor))

    def new_like(self, tensor: int, shape: Sequence[int], data: np.ndarray | None = None) -> int:
        """Add a tensor with the type and the scale of another; `data` makes it a constant."""
        new = copy.deepcopy(self.find(tensor))
        new.shape = list(shape)
        new.shapeSignature = None
        new.name = f"{text(new.name)}/{len(self.tensors)}"
        self.tensors.append((new, b"" if data is None else data.tobytes()))
        return self._base + len(self.tensors) - 1

    def repeated(self, tensor: int, shape: Sequence[int], data: np.ndarray, times: int) -> int:
        """Add a constant whose channels repeat the scales of another's channels."""
        new = self.new_like(tensor, shape, data)
        quantization = self.find(new).quantization
        scales = () if quantization is None or quantization.scale is None else quantization.scale
        if len(scales) > 1:
            quantization.scale = list(scales) * times
            quantization.zeroPoint = list(quantization.zeroPoint) * times
        return new

    def numbers(self, values: Any) -> int:
        """Add a constant of int32 numbers."""
        return self.constant("numbers", np.asarray(values, np.int32))

    # --- New operators; each returns its output, which is `out` if given ----------------

    def reshape(self, tensor: int, shape: Sequence[int], out: int | None = None) -> int:
        """Add a RESHAPE."""
        out = self.new_like(tensor, shape) if out is None else out
        sizes = [int(size) for size in shape]
        inputs = [tensor, self.numbers(shape)]
        self.operator("RESHAPE", inputs, [out], "ReshapeOptions", newShape=sizes)
        return out

    def join(self, tensors: Sequence[int], axis: int) -> int:
        """Concatenate tensors of one scale."""
        shape = list(self.shape(tensors[0]))
        shape[axis] = sum(self.shape(tensor)[axis] for tensor in tensors)
        out = self.new_like(tensors[0], shape)
        self.operator("CONCATENATION", tensors, [out], "ConcatenationOptions", axis=axis)
        return out

    def strided_slice(
        self,
        tensor: int,
        begin: Sequence[int],
        end: Sequence[int],
        strides: Sequence[int] | None = None,
        out: int | None = None,
    ) -> int:
        """Slice a tensor."""
        strides = strides or [1] * len(begin)
        rows = zip(begin, end, strides, strict=True)
        shape = [-(-(last - first) // step) for first, last, step in rows]
        out = self.new_like(tensor, shape) if out is None else out
        inputs = [tensor, *(self.numbers(each) for each in (begin, end, strides))]
        self.operator("STRIDED_SLICE", inputs, [out], "StridedSliceOptions")
        return out

    def pad(self, tensor: int, rows: tuple[int, int], columns: tuple[int, int]) -> int:
        """Pad an image with zeros."""
        if not any((*rows, *columns)):
            return tensor
        count, height, width, depth = self.shape(tensor)
        out = self.new_like(tensor, (count, height + sum(rows), width + sum(columns), depth))
        amounts = self.numbers([(0, 0), rows, columns, (0, 0)])
        self.operator("PAD", [tensor, amounts], [out], "PadOptions")
        return out

    def copy(self, image: int) -> int:
        """Copy an image into a tensor that Vela does not merge with its neighbours."""
        out = self.new_like(image, self.shape(image))
        window = {"padding": 1, "strideH": 1, "strideW": 1, "filterHeight": 1, "filterWidth": 1}
        self.operator("MAX_POOL_2D", [image], [out], "Pool2DOptions", (), b"", **window)
        return out

    def repeat(self, inputs: Sequence[int], out: int, **fields: Any) -> int:
        """Repeat the old operator with other tensors and some other options."""
        options = copy.deepcopy(self.options)
        for name, value in fields.items():
            setattr(options, name, value)
        operator = copy.copy(self.old)
        operator.inputs, operator.outputs, operator.builtinOptions = list(inputs), [out], options
        self.operators.append((self._document.kind(self.old), operator))
        return out

    def tensor(self, *arguments: Any, **options: Any) -> int:
        """Append a new tensor and return its number."""
        return self._base + super().tensor(*arguments, **options)
