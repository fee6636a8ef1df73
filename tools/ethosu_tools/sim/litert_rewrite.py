# SPDX-License-Identifier: MIT
"""Rewrites operators that LiteRT's releases compute differently, so that all results are equal.

The reference is LiteRT 1.2.0 (litert.py). A later release computes the same after these changes of
a model:

* FULLY_CONNECTED of integers rounds a result once, where 1.2.0 and the NPU round twice. CONV_2D
  still rounds twice, so the operator becomes a CONV_2D with a window of 1x1.
* SUM of int16 limits the result, where 1.2.0 wraps around, and the reference kernel gives other
  numbers in each run. The numbers are added as int32.
* EQUAL and NOT_EQUAL of int16 multiply both sides by their scales and round them to 1/256, where
  1.2.0 and the other comparisons take the numbers as they are. Both sides get the same scale.

In every release, SUM of int8 treats the bytes as uint8, so they are converted to uint8 before and
back after it. An int16 operator with an int32 bias whose options do not name this type reads the
bias as int64, past its end. The options get the bias's own type, which TensorFlow Lite Micro, Vela
and this project's runtime use.

New tensors follow the others, so existing numbers stay valid. Float operators are unchanged, also
those with integer weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from ..base.errors import InputError
from ..model import DTYPES, Graph, ModelFile, Operator

if TYPE_CHECKING:  # LiteRT's schema, which only a change needs
    from ..model.tflite.edit import Site

    Change = Callable[[Site], None]

_INTEGERS = ("int8", "uint8", "int16")
_EQUALITY = "EQUAL NOT_EQUAL".split()  # noqa: SIM905
# The positions of input and bias.
_BIASED = {"FULLY_CONNECTED": (0, 2), "CONV_2D": (0, 2), "TRANSPOSE_CONV": (2, 3)}
_TYPES = {name: number for number, name in DTYPES.items()}
_VALID = 1  # the schema's Padding
_LARGEST = 127
# LiteRT's EQUAL shifts by the exponent of the scale, which must not be positive, as that of 1 is.
_ANY_SCALE = 0.5


def rewritten(content: bytes, *, later: bool) -> bytes:
    """Rewrite a model for an installed LiteRT that is `later` than 1.2.0, or for 1.2.0.

    ValueError if a later release cannot compute the same as 1.2.0.
    """
    try:
        places = [*_places(ModelFile(content), later=later)]
    except InputError:
        return content  # a damaged model, which LiteRT rejects
    if not places:
        return content
    from ..model.tflite.edit import Document

    document = Document(content)
    for graph, number, change in reversed(places):  # numbers of operators before it stay
        document.graph = document.model.subgraphs[graph]
        site = document.at(number)
        change(site)
        document.replace(number, site)
    return document.data()


def _places(file: ModelFile, *, later: bool) -> Iterator[tuple[int, int, Change]]:
    """Find the operators to change: numbers of graph and operator, and the change."""
    for index, graph in enumerate(file.graphs):
        for number, operator in enumerate(graph.operators):
            change = (_later_change(graph, operator) if later else None) or _change(graph, operator)
            if change is not None:
                yield index, number, change


def _change(graph: Graph, operator: Operator) -> Change | None:
    """Return the change for all releases."""
    if operator.name == "SUM" and _dtype(graph, operator, 0) == "int8":
        return _add_unsigned
    positions = _BIASED.get(operator.name, ())
    types = [_dtype(graph, operator, position) for position in positions]
    return _name_bias if types == ["int16", "int32"] else None


def _later_change(graph: Graph, operator: Operator) -> Change | None:
    """Return the change for later releases than 1.2.0."""
    dtype = _dtype(graph, operator, 0)
    if operator.name == "FULLY_CONNECTED" and dtype in _INTEGERS:
        return _convolve
    if operator.name == "SUM" and dtype == "int16":
        x, y = (graph.tensors[ends[0]] for ends in (operator.inputs, operator.outputs))
        if x.scale != y.scale:  # 1.2.0 refuses it, too
            raise ValueError(f"SUM of int16 to {y.name}: expected one scale, not two")
        return _add_wide
    if operator.name in _EQUALITY and dtype == "int16":
        return _compare_numbers
    return None


def _dtype(graph: Graph, operator: Operator, position: int) -> str:
    tensor = operator.inputs[position] if position < len(operator.inputs) else -1
    return "" if tensor < 0 else graph.tensors[tensor].dtype


def _name_bias(site: Site) -> None:
    bias_type = site.options.quantizedBiasType or _TYPES["int32"]
    site.repeat(site.old.inputs, site.target, quantizedBiasType=bias_type)


# ---- FULLY_CONNECTED ----


def _convolve(site: Site) -> None:
    """Replace FULLY_CONNECTED by RESHAPE, CONV_2D and RESHAPE."""
    _check(site)
    units, depth = site.shape(site.input(1))
    rows = prod(site.shape(site.source)) // depth
    scales = np.asarray(site.find(site.input(1)).quantization.scale, np.float32)
    products = np.float32(site.scale(site.source)) * scales
    image = site.new_like(site.source, (rows, 1, 1, depth))
    site.reshape(site.source, (-1, 1, 1, depth), image)
    filters = _filters(site, (units, 1, 1, depth))
    if len(scales) == 1:
        # FULLY_CONNECTED multiplies the two scales in single precision, CONV_2D in double.
        site.find(image).quantization.scale = [1.0]
        site.find(filters).quantization.scale = products.tolist()
    if site.dtype(filters) == "int8":
        image, filters = _without_zero_point(site, image, filters)
    bias = _bias(site, units, products)
    out = site.new_like(site.target, (rows, 1, 1, units))
    _convolution(site, [image, filters, bias], out)
    site.reshape(out, (-1, *site.shape(site.target)[1:]), site.target)


def _check(site: Site) -> None:
    """Raise ValueError if CONV_2D does not have this form of FULLY_CONNECTED."""
    from ..model.tflite.writer import text

    types = [site.dtype(tensor) or "?" for tensor in (site.source, site.input(1), site.target)]
    dense = not site.options.weightsFormat and site.find(site.input(1)).sparsity is None
    if types[0] != types[2] or types[1] not in ("int8", "uint8") or not dense:
        kinds = "{} by {} to {}".format(*types) + ("" if dense else ", shuffled or sparse")
        raise ValueError(
            f"FULLY_CONNECTED to {text(site.find(site.target).name)} ({kinds}): the installed "
            "release rounds it in another way than the reference, ai-edge-litert 1.2.0, which is "
            "for Python 3.11 and 3.12"
        )


def _filters(site: Site, shape: tuple[int, ...]) -> int:
    weights = site.input(1)
    data = site.array(weights)
    return site.reshape(weights, shape) if data is None else site.new_like(weights, shape, data)


def _without_zero_point(site: Site, image: int, filters: int) -> tuple[int, int]:
    """Compute the same sums with weights without a zero point, as CONV_2D requires for int8.

    x (w - z) = x w + x (-z), so the input is doubled, and the second half has weights of -z. With a
    scale per channel, FULLY_CONNECTED ignores the zero point.
    """
    quantization = site.find(filters).quantization
    zero_points = [0] if quantization.zeroPoint is None else list(quantization.zeroPoint)
    quantization.zeroPoint = [0] * len(zero_points)
    rest = -int(zero_points[0])
    if len(quantization.scale) > 1 or rest == 0:
        return image, filters
    parts = [rest] if rest <= _LARGEST else [rest // 2, rest // 2]
    shape = site.shape(filters)
    more = [site.new_like(filters, shape, np.full(shape, part, np.int8)) for part in parts]
    return site.join([image] * (1 + len(parts)), 3), site.join([filters, *more], 3)


def _bias(site: Site, units: int, scales: np.ndarray) -> int:
    """Return the bias for CONV_2D, which requires one; its type sets the accumulator's width."""
    given = site.input(2)
    if given < 0:
        wide = site.dtype(site.source) == "int16" and (
            site.options.quantizedBiasType != _TYPES["int32"]
        )
        return site.constant("bias", np.zeros(units, np.int64 if wide else np.int32), scales)
    data = site.array(given)
    if data is not None:
        return site.constant("bias", data.reshape(units), scales)
    return site.reshape(given, (units,), site.tensor("bias", (units,), site.dtype(given), scales))


def _convolution(site: Site, inputs: Sequence[int], out: int) -> None:
    is_wide = site.dtype(inputs[0]) == "int16"
    site.operator(
        "CONV_2D",
        inputs,
        [out],
        "Conv2DOptions",
        padding=_VALID,
        strideW=1,
        strideH=1,
        dilationWFactor=1,
        dilationHFactor=1,
        fusedActivationFunction=site.options.fusedActivationFunction,
        quantizedBiasType=_TYPES[site.dtype(inputs[2])] if is_wide else 0,
    )


# ---- Operators of int8 and int16 ----


def _add_unsigned(site: Site) -> None:
    """Replace SUM of int8 by SUM of uint8 between two QUANTIZE, which keep all values."""
    ends = []
    for tensor in (site.source, site.target):
        old = site.find(tensor).quantization
        zero_point = int(old.zeroPoint[0]) + (1 << 7)
        ends.append(site.tensor("sum", site.shape(tensor), "uint8", old.scale[0], zero_point))
    site.operator("QUANTIZE", [site.source], [ends[0]], "QuantizeOptions")
    site.repeat([ends[0], site.input(1)], ends[1])
    site.operator("QUANTIZE", [ends[1]], [site.target], "QuantizeOptions")


def _add_wide(site: Site) -> None:
    """Replace SUM by CAST, SUM of int32 and CAST."""
    wide = [site.tensor("wide", site.shape(each), "int32") for each in (site.source, site.target)]
    _cast(site, site.source, wide[0])
    site.repeat([wide[0], site.input(1)], wide[1])
    _cast(site, wide[1], site.target)


def _cast(site: Site, source: int, target: int) -> None:
    ends = {"inDataType": site.find(source).type, "outDataType": site.find(target).type}
    site.operator("CAST", [source], [target], "CastOptions", (), b"", **ends)


def _compare_numbers(site: Site) -> None:
    """Give both sides of EQUAL or NOT_EQUAL the same scale."""
    sides = []
    for tensor in map(int, site.old.inputs):
        shape = site.shape(tensor) or (1,)  # an empty constant would not count as a shape
        side = site.tensor("side", shape, "int16", _ANY_SCALE)
        sides.append(site.reshape(tensor, shape, side))
    site.repeat(sides, site.target)
