# SPDX-License-Identifier: MIT
"""What each type of Python object means as values of a tensor: one list for all modules.

The page is modules/ethosu/docs/models.md, "Raw values and real values".
"""

RAW, REAL, REFUSED = "raw", "real", "TypeError"

# Types of tensors, and their typecodes.
TENSORS = {"int8": "b", "uint8": "B", "int16": "h", "int32": "i", "float32": "f", "bool": "B"}
TYPECODES = "bBhHiIlLqQfd"

# Objects without a typecode of their own; `n` elements with the value 1, `one`: as raw bytes.
# The typecode that they count as; "" fits any tensor.
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
    """Expressions for an input of a tensor of this type, and what each means."""
    found = {}
    for code in TYPECODES:
        real = code in "fd" and TENSORS[tensor] != code
        for kind in (f"array('{code}', [1] * n)", f"memoryview(array('{code}', [1] * n))"):
            found[kind] = REAL if real else _of_code(code, tensor)
    found |= {kind: _of_code(code, tensor) for kind, code in _BYTES.items()}
    found |= dict.fromkeys(_NUMBERS, REAL)
    return found | dict.fromkeys(_OTHERS, REFUSED)


def outputs(tensor: str) -> dict[str, str]:
    """The same for an output, which is always raw and has to be writable."""
    found = {}
    for kind, meaning in inputs(tensor).items():
        writable = not kind.startswith(("bytes(", "memoryview(one", "[", "(1"))
        found[kind] = meaning if writable and meaning == RAW else REFUSED
    return found
