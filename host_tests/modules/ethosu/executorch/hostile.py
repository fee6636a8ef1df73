# SPDX-License-Identifier: MIT
"""Small programs that cause a lot of work."""

import struct

from . import made
from .program_writer import Program
from .vela_binary import Io, VelaBinary


def many_delegate_calls(calls: int, names: int = 0, arguments: int = 0, words: int = 0) -> bytes:
    """One call of a delegate, repeated: with external weights, many inputs, or a stream of NOPs."""
    stop, cop1_nop = struct.pack("<II", 2 | 1 << 16, 0xFFFF0000), struct.pack("<I", 5)
    x = Io((1, 1, 1, 1, 1, 16), 1, 0, 1)
    blob = VelaBinary(
        b"COP1" + cop1_nop * words + stop, b"w" * 16, 64, (x,) * (1 + arguments), (x,)
    )
    key = "k" * 64
    program = Program()
    method = program.forward
    method.inputs, method.outputs = ([method.tensor("int8", (16,))] for _ in range(2))
    data = blob.encode()
    if names:
        data = made.external(blob, key)
        program.named, program.unused_names = {key: program.segment(blob.weights)}, names
    program.delegate(data, [*method.inputs * (1 + arguments), *method.outputs])
    method.instructions = method.instructions[:1] * calls
    return program.encode()


# As in the runtime's hostile.py.
MUCH_WORK = {
    "names of a program's data": lambda: many_delegate_calls(6000, names=6000),
    "arguments of a delegate": lambda: many_delegate_calls(6000, arguments=900),
    "commands of a delegate": lambda: many_delegate_calls(6000, words=8000),
}
