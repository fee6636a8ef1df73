# SPDX-License-Identifier: MIT
"""The table, for all modules, of how each Python type is interpreted as tensor values.

The page is modules/ethosu/docs/models.md, "Raw values and real values".
"""

import numpy as np

RAW, REAL, REFUSED = "raw", "real", "TypeError"

# Types of tensors, and their typecodes.
TENSORS = {"int8": "b", "uint8": "B", "int16": "h", "int32": "i", "float32": "f", "bool": "B"}
TYPECODES = "bBhHiIlLqQfd"

# Objects without a typecode; `n` elements of value 1, given by `one` as raw bytes.
# The typecode they are treated as; "" matches any tensor.
_BYTES = {
    "bytes(one)": "B",
    "memoryview(one)": "B",
    "framebuf.FrameBuffer(bytearray(one), len(one), 1, framebuf.GS8)": "",
    "bytearray(one)": "",
    "memoryview(bytearray(one))": "",
    "memoryview(bytearray(b'....' + one))[4:]": "",
    "uctypes.bytearray_at(uctypes.addressof(keep), len(keep))": "",
}
_NUMBERS = ("[1] * n", "(1,) * n", "[1.0] * n", "[True] * n")
_OTHERS = ("None", "1", "{1: 1}", "{1}", "iter([1] * n)", "range(n)", "m.inputs[0]", "m")


def _of_code(code: str, tensor: str) -> str:
    return RAW if code in ("", TENSORS[tensor]) else REFUSED


def inputs(tensor: str) -> dict[str, str]:
    """Return expressions for an input tensor of this type, and the values they represent."""
    meanings = {}
    for code in TYPECODES:
        real = code in "fd" and TENSORS[tensor] != code
        made = f"array('{code}', [1] * n)"
        for kind in (made, f"memoryview({made})", f"memoryview(array('{code}', [0]) + {made})[1:]"):
            meanings[kind] = REAL if real else _of_code(code, tensor)
    meanings |= {kind: _of_code(code, tensor) for kind, code in _BYTES.items()}
    meanings |= dict.fromkeys(_NUMBERS, REAL)
    return meanings | dict.fromkeys(_OTHERS, REFUSED)


def outputs(tensor: str) -> dict[str, str]:
    """Return expressions for an output, which is always raw and must be writable."""
    meanings = {}
    for kind, meaning in inputs(tensor).items():
        writable = not kind.startswith(("bytes(", "memoryview(one", "[", "(1"))
        meanings[kind] = meaning if writable and meaning == RAW else REFUSED
    return meanings


# found(call, given) returns the output bytes, or the exception type.
_TABLE = """
import asyncio, framebuf, uctypes
def found(call, given):
    try: return bytes(call(given)[0])
    except TypeError: return 'TypeError'
def into(given):
    m.run_into([bytearray(one)], [given])
    return [given]
def copied(given):
    y = bytearray(len(one))
    m.run_into([given], [y])
    return [y]
calls = [lambda given: m.predict([given]), copied, lambda given: asyncio.run(m.run([given]))]
"""


def differences(board, tensor: str, zero_point: int) -> list[tuple]:
    """Return deviations from the table of the board's model `m`, with six inputs and six outputs.

    The scale is 0.5 for all 8-bit and 16-bit types except bool; the others have none.
    """
    code, dtype = TENSORS[tensor], np.dtype(tensor)
    board.exec(
        "from array import array\nn = 6\n"
        f"one = bytes(array('{code}', [1] * n))\nkeep = bytearray(one)\n{_TABLE}"
    )
    assert board.eval("m.input_dtype") == (code,)
    real = 2 + zero_point if tensor in ("int8", "uint8", "int16") else 1
    expected = {
        RAW: np.ones(6, dtype).tobytes(),
        REAL: np.full(6, real, dtype).tobytes(),
        REFUSED: REFUSED,
    }
    wrong = []
    for kind, meaning in inputs(tensor).items():
        for answer in board.eval(f"[found(call, {kind}) for call in calls]"):
            if answer != expected[meaning]:
                wrong.append((kind, meaning, answer))
    for kind, meaning in outputs(tensor).items():
        answer = board.eval(f"found(into, {kind})")
        if answer != expected[meaning]:
            wrong.append(("output", kind, meaning, answer))
    return wrong
