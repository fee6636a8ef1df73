# SPDX-License-Identifier: MIT
"""Makes programs that must be rejected at load, with the defect and the error message.

ExecuTorch's own runtime reports success for the files of the first group, and computes zeros or
wrong values, or writes outside its memory.
"""

import struct
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from ethosu_tools.model.tflite.flatbuffer_writer import i8, i32

from host_tests.modules.ethosu.executorch.vela_binary import VelaBinary, block

from . import made
from .program_writer import FREE, JUMP, MOVE, NULL, Method, Program, union

Make = Callable[[VelaBinary], bytes]
# Defects in the data of the only delegate, or in a program without one.
Change = Callable[[VelaBinary], VelaBinary | bytes]
Build = Callable[[Program, Method], None]
# Inputs and outputs of small_cnn, on which all programs are based.
INPUT = made.End((1, 3, 16, 16), 0.0235, -3)
OUTPUT = made.End((1, 10), 1 / 256, -128)


def _program(blob: VelaBinary | bytes, *, buffers: int = 1, **options: object) -> Program:
    program = Program()
    method = program.forward
    method.buffers = buffers
    method.inputs = [method.tensor("int8", INPUT.sizes, INPUT.order)]
    method.outputs = [method.tensor("int8", OUTPUT.sizes)]
    data = blob if isinstance(blob, bytes) else blob.encode()
    program.delegate(data, [*method.inputs, *method.outputs], **options)
    return program


def _file(blob: VelaBinary | bytes, **options: object) -> bytes:
    return _program(blob, **options).encode()


def _delegate(change: Change, **options: object) -> Make:
    return lambda blob: _file(change(blob), **options)


def _all(**changes: object) -> Change:
    return lambda blob: replace(blob, **changes)


def _first(**changes: object) -> Change:
    return lambda blob: replace(blob, inputs=(replace(blob.inputs[0], **changes),))


def _last(**changes: object) -> Change:
    return lambda blob: replace(blob, outputs=(replace(blob.outputs[0], **changes),))


def _number(name: str, offset: int, number: int) -> Change:
    """Change the number at this offset of a block."""

    def change(blob: VelaBinary) -> bytes:
        data = bytearray(blob.encode())
        struct.pack_into("<I", data, data.index(name.encode() + b"\0") + offset, number)
        return bytes(data)

    return change


def _size(name: str, size: int) -> Change:
    return _number(name, 16, size)


def _renamed(name: str, new: str) -> Change:
    old, other = (each.encode().ljust(16, b"\0") for each in (name, new))
    return lambda blob: blob.encode().replace(old, other, 1)


def _external(blob: VelaBinary, name: str) -> bytes:
    data = bytearray(blob.encode())
    data[data.index(name.encode() + b"\0") + 20] = 1
    return bytes(data)


def _twice(blob: VelaBinary) -> bytes:
    data = blob.encode()
    end = block("vela_end_stream")
    return data[: -len(end)] + block("scratch_size", bytes(4)) + end


def _constant_output(blob: VelaBinary) -> bytes:
    program = Program()
    method = program.forward
    index = program.constant(np.zeros(10, np.int8))
    method.inputs = [method.tensor("int8", INPUT.sizes, INPUT.order)]
    method.outputs = [method.tensor("int8", OUTPUT.sizes, constant=True, data=index)]
    program.delegate(blob.encode(), [0, 1])
    return program.encode()


# Region 1 holds input and output of small_cnn, and cannot be any smaller.
CHANGES: dict[str, tuple[Change, str]] = {
    "output offset outside of scratch": (
        _last(offset=0x200000),
        r"instruction 0 \(delegate\), argument 1: last byte in scratch at 2097162, expected 3568",
    ),
    "input offset 0x7ffffff0": (
        _first(offset=0x7FFFFFF0),
        r"argument 0: last byte in scratch at 2147484400, expected 3568",
    ),
    "scratch_size too small for the ends": (
        _all(scratch_size=0x100),
        r"argument 0: last byte in scratch at 2160, expected 256",
    ),
    "a scratch_size that whole cache lines wrap to 0": (
        _all(scratch_size=0xFFFFFFF0),
        r"instruction 0 \(delegate\): region 1 needs 4095 MB, expected less than 2048",
    ),
    "a region of inputs of 2 GB": (
        _first(offset=0x7FFFFFF0, region=3),
        r"instruction 0 \(delegate\): region 3 needs 2048 MB, expected less than 2048",
    ),
    "an output of fewer bytes than its tensor": (
        _last(shape=(1, 1, 1, 1, 1, 3)),
        r"instruction 0 \(delegate\)",
    ),
    "inputs count 2 with one argument": (
        lambda blob: replace(blob, inputs=blob.inputs * 2),
        "2 arguments for 2 inputs and 1 outputs",
    ),
    "no inputs": (_all(inputs=()), "2 arguments for 0 inputs and 1 outputs"),
    "cmd_data of 0x7fffffe0 bytes": (
        _size("cmd_data", 0x7FFFFFE0),
        r"block cmd_data: 2147483616 bytes, more than remain, expected \d+",
    ),
    "a size that rounds up to 0": (
        _size("weight_data", 0xFFFFFFFF),
        "block weight_data: 4294967295 bytes, more than remain",
    ),
    "weight_data of 16 bytes": (_size("weight_data", 16), "block .*: "),
    "scratch_size of 8 bytes": (
        _size("scratch_size", 8),
        "block scratch_size: 8 bytes, expected 4",
    ),
    "a count of inputs that its block contradicts": (
        _size("inputs", 44),
        "block inputs: 44 bytes, inconsistent with its count, expected 40",
    ),
    "a count of inputs that wraps around": (
        _number("inputs", 32, (1 << 30) + 1),
        "block inputs: 40 bytes, inconsistent with its count, expected 4294967295",
    ),
    "another first block": (
        _renamed("vela_bin_stream", "vela_bin"),
        "block vela_bin: 0 bytes in the first block, which must be vela_bin_stream",
    ),
    "no last block": (
        lambda blob: blob.encode()[:-32],
        "0 bytes of the next block's header, expected 32",
    ),
    "an unknown block": (
        _renamed("weight_data", "weights"),
        "block weights: .* unknown or repeated",
    ),
    "a block twice": (_twice, "block scratch_size: .* repeated"),
    "bytes after the last block": (
        lambda blob: blob.encode() + bytes(16),
        "block vela_end_stream: 16 bytes after the last block",
    ),
    "cut within a header": (
        lambda blob: blob.encode()[:-20],
        "12 bytes of the next block's header, expected 32",
    ),
    "no delegate data at all": (lambda _: b"", "0 bytes of the next block's header"),
    "a negative offset": (
        _first(offset=-16),
        "argument 0: last byte in scratch at 4294967295, expected 3568",
    ),
    "a negative dimension": (
        _first(shape=(1, 1, 1, -16, 16, 3)),
        "argument 0: last byte in scratch at 4294967295, expected 3568",
    ),
    "element size 0": (_first(element_size=0), "argument 0: element size 0, expected 1"),
    "an input in fast scratch": (_first(region=2), "argument 0: region 2, expected 1"),
    "an input in the region of outputs": (_first(region=4), "argument 0: region 4, expected 1"),
    "a region that is not there": (
        _last(region=0x7FFFFFFF),
        "argument 1: region 2147483647, expected 1",
    ),
    "an input of other size than its tensor": (
        _first(shape=(1, 1, 1, 16, 15, 3)),
        "argument 0: tensor size 768, expected 720",
    ),
    "an input of other element size than its tensor": (
        _first(shape=(1, 1, 1, 16, 8, 3), element_size=2),
        "argument 0: element size 1, expected 2",
    ),
    "an external scratch_size": (
        lambda blob: _external(blob, "scratch_size"),
        "block scratch_size: 1 external blocks of this name, expected 0",
    ),
    "external weights that were not given": (
        lambda blob: _external(blob, "weight_data"),
        r"its data is in another file \(.ptd\), which was not given",
    ),
    "commands that are no payload": (
        lambda blob: replace(blob, commands=b"XXXX" + blob.commands[4:]),
        "COP1",
    ),
}

DELEGATES: dict[str, tuple[Make, str]] = {
    name: (_delegate(change), said) for name, (change, said) in CHANGES.items()
} | {
    "another backend": (
        _delegate(_all(), backend="XnnpackBackend"),
        "backend is not EthosUBackend",
    ),
    "more planned buffers than there may be": (
        _delegate(_all(), buffers=26),
        "26 planned buffers, expected at most 8",
    ),
    "a constant output": (
        _constant_output,
        r"instruction 0 \(delegate\), argument 1: the output is constant",
    ),
}


def _only(build: Build) -> Make:
    """Make a program without a delegate, with one tensor besides its inputs and outputs."""

    def make(_: VelaBinary) -> bytes:
        program = Program()
        method = program.forward
        method.inputs = [method.tensor("float32", (4,))]
        method.outputs = [method.tensor("int8", (4,))]
        build(program, method)
        return program.encode()

    return make


def _quantize(**changes: float) -> Build:
    def build(_: Program, method: Method) -> None:
        numbers = {"scale": 0.5, "zero": 0, "low": -128, "high": 127, "type": 1} | changes
        values = [method.number(value) for value in numbers.values()]
        method.kernel(made.QUANTIZE, [0, *values, 1, 1])

    return build


def _constant_result(program: Program, method: Method) -> None:
    result = method.tensor("int8", (4,), constant=True, data=program.constant(np.zeros(4, np.int8)))
    values = [method.number(value) for value in (0.5, 0, -128, 127, 1)]
    method.kernel(made.QUANTIZE, [0, *values, result, result])


def _call(arguments: list[int], name: str = made.QUANTIZE) -> Build:
    return lambda _, method: method.kernel(name, arguments)


def _instruction(kind: int, second: int = 1) -> Build:
    return lambda _, method: method.instructions.append(union(kind, {0: i32(0), 1: i32(second)}))


def _tensor(*arguments: object, **options: object) -> Build:
    def build(_: Program, method: Method) -> None:
        planned = method.planned
        method.inputs = [method.tensor(*arguments, **options)]
        method.planned = planned if "at" in options else method.planned

    return build


def _many_filters(linear: bool) -> Build:
    """Make 2^30 filters with tables of 0 bytes: at 4 bytes each, the size wraps to 0."""
    filters = 1 << 30

    def build(program: Program, method: Method) -> None:
        program.segments[0] = bytes(16)
        program.constants.append(16)
        table = method.tensor("int32", (0,), constant=True, data=1)
        x = method.tensor("int8", (1, 1) if linear else (1, 1, 1, 1), at=0)
        sizes, order = ((1, filters), None) if linear else ((1, filters, 1, 1), made.LAST)
        y = method.tensor("int8", sizes, order, at=0)
        shape = (filters, 1) if linear else (filters, 1, 1, 1)
        weights = method.tensor("int8", shape, at=0)
        n, one, zero = method.number, method.numbers([1, 1]), method.numbers([0, 0])
        if linear:
            scale = [method.numbers([1 << 30]), method.numbers([0])]
            arguments = [x, weights, table, n(None), n(0), n(0), n(0), *scale, n(127), n(-128)]
            method.kernel("cortex_m::quantized_linear", [*arguments, y, y])
        else:
            scratch = method.tensor("uint8", (16,), at=0)
            ends = [n(0), n(0), table, table, n(-128), n(127), scratch]
            arguments = [x, weights, n(None), one, zero, one, *ends, y, y]
            method.kernel("cortex_m::quantized_conv2d", arguments)
        method.inputs, method.outputs = [x], [y]

    return build


def _clone_of_none(_: Program, method: Method) -> None:
    """Make an empty tensor whose other dimensions have a product that exceeds 32 bits."""
    most = (1 << 31) - 1
    x, y = method.tensor("int8", (0, most, most), at=0), method.tensor("int8", (1, 1, 1), at=0)
    method.inputs, method.outputs = [y], [y]
    method.kernel("dim_order_ops::_clone_dim_order", [x, method.number(None), y, y])


def _shifted(name: str) -> Build:
    """Make an operator whose result begins inside its input."""

    def build(_: Program, method: Method) -> None:
        x, y = method.tensor("int8", (64,), at=0), method.tensor("int8", (64,), at=16)
        joined = name == "aten::cat"
        values = [method.tensors([x]), method.number(0)] if joined else [x, method.number(None)]
        method.inputs, method.outputs = [x], [y]
        method.kernel(name, [*values, y, y])

    return build


def _far_input(_: Program, method: Method) -> None:
    """Give an input's value an index above 65535."""
    first = 1 << 16
    method.inputs, method.outputs = [first], [first + 1]
    method.values = [union(NULL, {})] * first + method.values


def _dynamic(_: Program, method: Method) -> None:
    method.values[0][1][8] = i8(1)


def _patched(at: int, text: str, value: int) -> Make:
    """Change numbers in the extended header of a valid program."""

    def make(blob: VelaBinary) -> bytes:
        data = bytearray(_file(blob))
        struct.pack_into(text, data, at, value)
        return bytes(data)

    return make


# Messages that several rows share.
TABLES = "bias, multipliers or shifts are not one aligned constant int32 per channel"
CONFLICT = "sizes and order conflict"
MALFORMED = "malformed or truncated"

BUILDS: dict[str, tuple[Build, str]] = {
    "an operator that the firmware lacks": (
        _call([0, 1, 1], "aten::foo"),
        r"instruction 0 \(aten::foo\): operator is not in this build, and none runs on the NPU: "
        "export with EthosUPartitioner",
    ),
    "too few arguments": (
        _call([1, 1]),
        r"instruction 0 \(quantized_decomposed::quantize_per_tensor\): too few arguments",
    ),
    "a value that is not there": (_call([99, 0, 0, 0, 0, 0, 1, 1]), "malformed|value 99"),
    "a negative value": (_call([-1, 0, 0, 0, 0, 0, 1, 1]), "malformed|value 4294967295"),
    "a scale of 0": (
        _quantize(scale=0.0),
        r"argument 1 \(scale\) is 0 as float32: expected a finite number above 0",
    ),
    "an infinite scale": (_quantize(scale=float("inf")), r"scale\) is infinite: expected"),
    "a negative scale": (_quantize(scale=-0.5), r"scale\) is below 0: expected"),
    "a scale of another type": (_quantize(scale=7), "argument 1 is an Int, expected a D"),
    "a result that is constant": (
        _constant_result,
        "argument 7 is a tensor, expected a planned one, not a constant",
    ),
    "limits beyond int8": (_quantize(low=-129), "limits do not match the type"),
    "limits beyond all types": (
        _quantize(high=1 << 40),
        "argument 4 is 2147483647 or beyond, expected -128 to 65535",
    ),
    "tables too small for 2^30 filters": (_many_filters(linear=False), TABLES),
    "a bias too small for 2^30 filters": (_many_filters(linear=True), TABLES),
    "MoveCall to another type": (
        _instruction(MOVE),
        r"instruction 0 \(\): source and target differ in shape or type",
    ),
    "a condition that is not a bool": (_instruction(JUMP), "condition is not a bool"),
    "a jump backwards": (_instruction(JUMP, 0), "jumps backwards or past the end"),
    "a jump past the end": (_instruction(JUMP, 2), "jumps backwards or past the end"),
    "an instruction of no known type": (_instruction(99), "unsupported instruction"),
    "a dynamic shape": (_dynamic, "value 0 of instruction 0 has a dynamic shape"),
    "a tensor outside of its planned buffer": (
        _tensor("float32", (4,), at=32),
        "exceeds its planned buffer",
    ),
    "an address that its type does not allow": (
        _tensor("float32", (1,), at=2),
        "is misaligned in it",
    ),
    "a constant outside of the file": (
        _tensor("float32", (4,), constant=True, data=7),
        "has constant data that is not in the file",
    ),
    "an order that names a dimension twice": (_tensor("float32", (2, 2), (1, 1)), CONFLICT),
    "an order of other length": (_tensor("float32", (2, 2), (0,)), CONFLICT),
    "sizes beyond 32 bits": (_tensor("float32", (1 << 16, 1 << 16), at=0), CONFLICT),
    "a result over a part of its input": (
        _shifted("aten::clone"),
        r"instruction 0 \(aten::clone\): an input overlaps an output",
    ),
    "a result over a part of an input in a list": (
        _shifted("aten::cat"),
        r"instruction 0 \(aten::cat\): an input overlaps an output",
    ),
    "sizes beyond 32 bits, and one of 0": (_clone_of_none, CONFLICT),
    "a negative size": (_tensor("float32", (-4,), at=0), CONFLICT),
    "nine dimensions": (_tensor("float32", (1,) * 9), "more than 8 dimensions"),
    "too many inputs": (
        lambda _, method: method.inputs.extend(method.inputs * 1023),
        "1024 inputs and 1 outputs, expected at most 1024 together",
    ),
    "an input above value 65535": (
        _far_input,
        "value 65536, an input or output: expected at most 65535",
    ),
    "an input that is a list": (
        lambda _, method: method.inputs.append(method.numbers([])),
        "value 2 of instruction 0 is not a tensor",
    ),
    "an output that is a number": (
        lambda _, method: method.outputs.append(method.number(3)),
        "value 2 of instruction 0 is not a tensor",
    ),
}

PROGRAMS: dict[str, tuple[Make, str]] = {
    name: (_only(build), said) for name, (build, said) in BUILDS.items()
} | {
    "no forward()": (
        lambda _: Program([Method("backward")]).encode(),
        "the program has no method forward, but 1 others",
    ),
    "too many methods": (
        lambda _: Program([Method("forward"), *[Method("other")] * 256]).encode(),
        "the program has 257 methods, expected at most 256",
    ),
    "tables that end behind the file": (_patched(16, "<Q", 1 << 40), MALFORMED),
    "tables that end before they begin": (_patched(16, "<Q", 4), MALFORMED),
    "a header of 8 bytes": (_patched(12, "<I", 8), MALFORMED),
    "segments behind the file": (_patched(24, "<Q", 1 << 33), MALFORMED),
    "a segment past the file": (lambda blob: _file(blob)[:-64], "delegate is malformed"),
    "a file cut in its tables": (lambda blob: _file(blob)[:100], f"{MALFORMED} at byte"),
}

SOUND: dict[str, Make] = {
    "a delegate": _file,
    "quantize": _only(_quantize()),
    "FreeCall": _only(_instruction(FREE)),
}
