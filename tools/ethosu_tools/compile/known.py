# SPDX-License-Identifier: MIT
"""Names the known defects of Vela that a part of a model may show.

Each row is a defect with a condition on graphs; host_tests/conformance/README.md explains them, and
has a small model for each. Rows are only applied to a part that was seen to differ, reduced to
the fewest operators, so all operators that a defect needs are in the part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import SetupError
from ..model import Graph, ModelFile, Operator, Tensor
from ..model.tflite.cut import Whole
from . import vela_defects


def _kinds(names: str) -> tuple[str, ...]:
    """Split the names of operators."""
    return tuple(names.split())


_SLICES = _kinds("SLICE STRIDED_SLICE SPLIT SPLIT_V UNPACK")
_JOINS = _kinds("PAD PADV2 PACK CONCATENATION RESHAPE")
_RESHAPES = _kinds("RESHAPE EXPAND_DIMS SQUEEZE TRANSPOSE MIRROR_PAD")
_WINDOWS = _kinds("CONV_2D DEPTHWISE_CONV_2D MAX_POOL_2D AVERAGE_POOL_2D")
_ELEMENTWISE = _kinds("ADD SUB MUL MINIMUM MAXIMUM SQUARED_DIFFERENCE")
_REDUCE = _kinds("REDUCE_MAX REDUCE_MIN")
_LOGIC = _kinds("REDUCE_ALL REDUCE_ANY")
_COMPARE = _kinds("EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL")
_TABLES = _kinds("LOGISTIC TANH HARD_SWISH LEAKY_RELU ELU EXP LOG RSQRT GELU")
_SUMS = _kinds("SUM MEAN SOFTMAX")
_RESIZES = _kinds("RESIZE_NEAREST_NEIGHBOR RESIZE_BILINEAR")
_MASKED = _kinds("SELECT SELECT_V2 REDUCE_ALL REDUCE_ANY")
_SAME, _IMAGE, _STEP = 0, 4, 16
_STRIDE, _GAP, _BRICK = 3, 2, 16  # longest stride of one operation; channels of a brick
_NEAR = 0.05  # share of comparisons between nearly equal numbers


@dataclass(frozen=True)
class Node:
    """One operator and its neighbours in a part of a model."""

    part: Whole
    number: int
    npu: str

    @property
    def operator(self) -> Operator:
        """The operator."""
        return self.part.operators[self.number]

    def option(self, name: str, default: Any = 0) -> Any:
        """Return a field of the operator's options."""
        return getattr(self.part.options(self.number), name, default)

    def input(self, place: int) -> Tensor:
        """Return an input that must be present."""
        return self.part.graph.tensors[self.operator.inputs[place]]

    @property
    def inputs(self) -> list[Tensor]:
        """All inputs that are present."""
        return [self.part.graph.tensors[tensor] for tensor in self.operator.inputs if tensor >= 0]

    @property
    def output(self) -> Tensor:
        """The first output."""
        return self.part.graph.tensors[self.operator.outputs[0]]

    def numbers(self, place: int) -> list[int]:
        """Return the contents of a constant input."""
        tensor = self.input(place)
        return [int(n) for n in np.frombuffer(tensor.content, tensor.dtype)]

    def is_after(self, *kinds: str) -> bool:
        """Whether the operator reads the output of one of these kinds."""
        before = self.part.producers([self.number])
        return any(self.part.operators[number].name in kinds for number in before)

    def is_before(self, *kinds: str) -> bool:
        """Whether an operator of one of these kinds reads this one's output."""
        outputs = self.operator.outputs
        after = [number for tensor in outputs for number in self.part.readers.get(tensor, ())]
        return any(self.part.operators[number].name in kinds for number in after)

    @property
    def axes(self) -> list[int]:
        """The axes of a reduction."""
        rank = len(self.input(0).shape)
        return sorted({axis % rank for axis in self.numbers(1)})

    @property
    def groups(self) -> int:
        """The groups of a convolution."""
        return max(1, self.input(0).shape[-1] // max(1, self.input(1).shape[-1]))


class Defect(NamedTuple):
    """A defect: the operators that it concerns, the condition, and what Vela does."""

    name: str
    kinds: Sequence[str]
    applies: Callable[[Node], bool]
    text: str


DEFECTS = (
    Defect("reduce-without-dims", (*_REDUCE, *_LOGIC),
           lambda n: not n.option("keepDims") or all(n.input(0).shape[a] == 1 for a in n.axes),
           "without keep_dims, it takes the output's shape for the input's"),
    Defect("reduce-of-slice", _REDUCE, lambda n: n.is_after(*_SLICES),
           "the window covers the whole tensor, not the slice"),
    Defect("reduce-before-pad", _REDUCE, lambda n: n.is_before(*_JOINS),
           "it takes the padded shape for the output's"),
    Defect("padding-of-slice", _WINDOWS,
           lambda n: n.option("padding") == _SAME and n.is_after(*_SLICES),
           "SAME padding around a slice begins elsewhere in the whole tensor"),
    Defect("groups-of-batch", ("CONV_2D",),
           lambda n: n.groups > 1 and n.input(0).shape[0] > 1,
           "in a grouped convolution of a batch, the padding is on the wrong sides"),
    Defect("groups-of-equal-weights", ("CONV_2D",), lambda n: _equal_groups(n),
           "groups with equal weights all get the biases of one"),
    Defect("operators-of-equal-weights", tuple(vela_defects.WEIGHTS),
           lambda n: vela_defects.has_twin(n.part.file, n.output.name),
           "operators with equal weights get the biases of one"),
    Defect("elementwise-of-slice", _ELEMENTWISE,
           lambda n: n.is_after(*_SLICES) and n.input(0).shape == n.input(1).shape,
           "one operand is repeated as if it were broadcast"),
    Defect("batch-matmul-of-slice", ("BATCH_MATMUL",), lambda n: n.is_after(*_SLICES),
           "the whole tensor is multiplied, not the slice"),
    Defect("transpose-conv-of-slice", ("TRANSPOSE_CONV",), lambda n: n.is_after(*_SLICES),
           "it reads from row 0 and column 0 of the whole tensor"),
    Defect("transpose-conv-into-part", ("TRANSPOSE_CONV",),
           lambda n: n.is_before(*_JOINS)
           and any(n.option(name) > size for name, size in
                   zip(("strideH", "strideW"), n.input(1).shape[1:3], strict=True)),
           "a kernel smaller than the stride writes to row 0 and column 0 of the whole tensor"),
    Defect("depthwise-multiplier-into-part", ("DEPTHWISE_CONV_2D",),
           lambda n: n.is_before(*_JOINS) and n.input(0).shape[-1] < n.output.shape[-1],
           "with a multiplier, it computes all channels of the whole tensor"),
    Defect("mul-int32", ("MUL",), lambda n: n.output.dtype == "int32",
           "the product of int32 is shifted as if it had scales"),
    Defect("squared-difference-multiplier", ("SQUARED_DIFFERENCE",), lambda n: _rounds_up(n),
           "a multiplier that rounds up to 2^31 becomes 1"),
    Defect("shared-between-shapes", (),
           lambda n: n.is_before(*_RESHAPES) or n.is_after(*_RESHAPES),
           "a value that is used in two shapes is read in the wrong one"),
    Defect("resize-bilinear-before-pad", ("RESIZE_BILINEAR",),
           lambda n: bool(n.option("halfPixelCenters")) and n.is_before(*_JOINS),
           "it takes the padded shape for the output's"),
    Defect("mirror-pad-of-channels", ("MIRROR_PAD",), lambda n: any(n.numbers(1)[-2:]),
           "no operation writes the padding of channels"),
    Defect("sum-of-several-axes", ("SUM",),
           lambda n: not n.option("keepDims") or n.axes != [len(n.input(0).shape) - 1],
           "over axes other than the last one, it sums along one of them"),
    Defect("arg-max-to-int64", ("ARG_MAX",),
           lambda n: n.output.dtype == "int64" and "u85" not in n.npu,
           "another tensor begins inside an output of int64"),
    Defect("arg-max-of-slice", ("ARG_MAX",), lambda n: n.is_after(*_SLICES),
           "it counts the axis among those of the slice"),
    Defect("exp-overflow", ("EXP",), lambda n: _overflows(n),
           "the table wraps where the result exceeds 2^31 steps"),
    Defect("resize-nearest-centres", ("RESIZE_NEAREST_NEIGHBOR",),
           lambda n: not n.option("halfPixelCenters")
           and any(step % 1 and 1 / step % 1 for step in _steps(n)),
           "it uses pixel centres although half_pixel_centers is not set"),
    Defect("resize-steps", _RESIZES,
           lambda n: any(step >= _STEP for step in _steps(n)),
           "of steps of 16 and more it keeps the low 4 bits"),
    Defect("truth-as-mask", _COMPARE,
           lambda n: n.operator.outputs[0] in n.part.graph.outputs
           and n.is_before(*_MASKED),
           "the output's 0 or 1 is used as the mask 0 or -1"),
    Defect("variable-start-value", ("CALL_ONCE",), lambda n: True,
           "the graph that sets a variable's first value uses another place in the arena"),
    Defect("table-of-transpose", _TABLES,
           lambda n: n.npu in ("ethos-u55-32", "ethos-u55-64") and n.is_after("TRANSPOSE"),
           "the table goes past the end of SHRAM"),
    Defect("transpose-uint8", ("TRANSPOSE",), lambda n: n.output.dtype == "uint8",
           "it copies int8 numbers with the limits of uint8"),
    Defect("transpose-conv-of-small-kernel", ("TRANSPOSE_CONV",),
           lambda n: "u85" in n.npu and n.option("padding") == _SAME
           and any(n.option(name) - size >= _GAP for name, size in
                   zip(("strideH", "strideW"), n.input(1).shape[1:3], strict=True)),
           "results of a kernel that is smaller than the stride go to another row and column"),
    Defect("depthwise-strides-in-slices", ("DEPTHWISE_CONV_2D",),
           lambda n: _has_long_stride(n) and n.output.shape[-1] > _BRICK,
           "operations of a part of the channels add to the accumulators of all of them"),
    Defect("average-pool-of-batch", ("AVERAGE_POOL_2D",),
           lambda n: _has_long_stride(n) and n.option("padding") == _SAME
           and n.input(0).shape[0] > 1,
           "the sums of the second image of a batch go past the end of the arena"),
    Defect("unpack-of-channels", ("UNPACK",),
           lambda n: n.option("axis") in (-1, len(n.input(0).shape) - 1)
           and n.is_before("MEAN", *(("PACK", "AVERAGE_POOL_2D") if "u85" in n.npu else ())),
           "parts are written in bricks of 16 channels, and read without them"),
    Defect("mirror-pad-of-batch", ("MIRROR_PAD",),
           lambda n: len(n.input(0).shape) == _IMAGE and any(n.numbers(1)[:2]),
           "no operation writes the padding of a batch"),
    Defect("padding-of-groups", ("CONV_2D",),
           lambda n: _has_long_stride(n) and n.option("padding") == _SAME and n.groups > 1,
           "the windows of a grouped convolution begin at the edge, not in the padding"),
    Defect("average-pool-before-pad", ("AVERAGE_POOL_2D",),
           lambda n: _has_long_stride(n) and n.option("padding") == _SAME
           and n.is_before(*_JOINS),
           "the sums have the padded shape, for which their memory is too small"),
    Defect("int32-bias-of-int16", vela_defects.BIASED,
           lambda n: "u85" in n.npu and vela_defects.has_short_bias(n.part.graph, n.operator),
           "with a bias of int32, it writes the low 16 of a multiplier's 31 bits: take int64"),
)  # fmt: skip

# Steps by which any NPU may differ from TFLite's kernel; tools/npu_sim/README.md says why.
BOUNDS = {"ABS": 1, "ELU": 1, "UNIDIRECTIONAL_SEQUENCE_LSTM": 12}

KNOWN = "as known of"  # the beginning of known_of()'s text
# Defects for which vela_defects.py has warnings that name the operators.
_WARNED = ("operators-of-equal-weights", "int32-bias-of-int16")

# Here TFLite's kernel is wrong, not the NPU or the runtime: comparisons.cc scales int8 and uint8
# only.
_RAW = "which TFLite's kernel compares without their two scales, so that the result here is right"

# Defects that only releases before 5.2 have.
OLDER = (
    Defect("reduce-sum-int16", _SUMS,
           lambda n: "u85" in n.npu and n.input(0).dtype == "int16",
           "sums of int16 use 48 bits, with which Arm's model of Ethos-U85 gives zeros (Vela issue "
           "23): compile with Vela 5.1 or later"),
)  # fmt: skip
_OLDER_RELEASES = ("5.0",)


def known(part: ModelFile, npu: str, release: str) -> list[Defect]:
    """List the defects of this release that a part of a model may show on an NPU."""
    whole = Whole(part)
    rows = OLDER + DEFECTS if release.startswith(_OLDER_RELEASES) else DEFECTS
    found = {
        row.name: row
        for row in rows
        for number, operator in enumerate(whole.operators)
        if (operator.name in row.kinds or not row.kinds) and row.applies(Node(whole, number, npu))
    }
    if len(found) > 1:  # this one concerns all operators, so another is likelier
        found.pop("shared-between-shapes", None)
    return list(found.values())


def warnings(source: ModelFile, made: ModelFile) -> list[str]:
    """Return a sentence for each defect that a compiled model may show.

    The conditions of DEFECTS are necessary, not sufficient, so use this only for a model that was
    seen to differ, or that could not be compared.
    """
    found = vela_defects.warnings(source, made)
    if source.is_program or not made.description.npu:
        return found
    try:
        rows = known(source, made.description.npu, made.vela_version or "")
    except SetupError as error:
        return [*found, f"defects of Vela that this model may show are not known: {error}"]
    return found + [
        f"a defect of Vela that this model may show: `{row.name}`: {row.text}"
        for row in rows
        if row.name not in _WARNED
    ]


def known_of(graph: Graph) -> str:
    """Explain known differences from TFLite's kernels that are no defects; "" without any."""
    names = {operator.name for operator in graph.operators}
    raw = {each.name: None for each in graph.operators if _compares_raw(each, graph.tensors)}
    rounded = " and ".join(name for name in BOUNDS if name in names)
    reasons = [f"{rounded}, which the NPU rounds in another way"] if rounded else []
    reasons += [f"{' and '.join(raw)} of int16, {_RAW}"] if raw else []
    return f"{KNOWN} {' and of '.join(reasons)}" if reasons else ""


def _compares_raw(operator: Operator, tensors: Sequence[Tensor]) -> bool:
    """Whether TFLite's kernel compares raw numbers although their scales differ."""
    inputs = [tensors[tensor] for tensor in operator.inputs if tensor >= 0]
    return (
        operator.name in _COMPARE
        and all(tensor.dtype == "int16" for tensor in inputs)
        and len({tensor.scale for tensor in inputs}) > 1
    )


def expected(operator: Operator, tensors: Sequence[Tensor], largest: float, share: float) -> str:
    """Explain why an operator may differ from TFLite's kernel; "" if that is a defect."""
    kind = operator.name
    if _compares_raw(operator, tensors):
        return f"expected of {kind} of int16, {_RAW}"
    bound = BOUNDS.get(kind, 0)
    if 0 < largest <= bound:
        steps = f"{bound} steps are" if bound > 1 else "1 step is"
        return f"up to {steps} expected of {kind}: the NPU rounds in another way"
    if kind in _COMPARE and share < _NEAR:
        return f"expected of {kind} if its inputs have two scales: nearly equal numbers are rounded"
    return ""


def _equal_groups(node: Node) -> bool:
    weights = np.frombuffer(node.input(1).content, node.input(1).dtype)
    groups = [group.tobytes() for group in weights.reshape(node.groups, -1)]
    return len(set(groups)) < len(groups)


def _rounds_up(node: Node) -> bool:
    """Whether the mantissa of a multiplier in SQUARED_DIFFERENCE rounds up to 1."""
    scales = [tensor.scale for tensor in node.inputs[:2]]
    twice = 2 * max(scales)
    if not twice or not node.output.scale:
        return False
    return any(
        round(math.frexp(real)[0] * 2**31) == 2**31
        for real in (*(scale / twice for scale in scales), twice * twice / node.output.scale)
    )


def _has_long_stride(node: Node) -> bool:
    """Whether Vela makes one operation for each element of the kernel."""
    return "u85" in node.npu and max(node.option("strideH"), node.option("strideW")) > _STRIDE


def _overflows(node: Node) -> bool:
    source, result = node.input(0), node.output
    largest = np.iinfo(source.dtype).max if source.dtype in ("int8", "int16") else 0
    steps = math.log(2.0**31 * result.scale) if result.scale else math.inf
    return (int(largest) - source.zero_point) * source.scale > steps


def _steps(node: Node) -> Iterator[float]:
    """Return the input pixels per output pixel, vertically and horizontally."""
    before, after = node.input(0).shape, node.output.shape
    less = 1 if node.option("alignCorners") else 0
    if len(before) == _IMAGE:
        for axis in (1, 2):
            yield (before[axis] - less) / max(1, after[axis] - less)
