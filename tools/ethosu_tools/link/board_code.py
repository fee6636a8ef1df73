# SPDX-License-Identifier: MIT
"""Code that `Board` runs on a board, with a hash of each request and answer; parses the answers."""

import ast
import base64
import hashlib
import struct
from types import UnionType
from typing import Any

from ..base.errors import BoardError

DAMAGED = "damaged or duplicated in transit"
HASH_BYTES = hashlib.sha256().digest_size

# First bytes of the marks that the board sends for `ask` and `exchange`: it is ready for the data;
# the answer follows. The request's hash continues a mark, because programs may print, too.
MARKS = READY, ANSWER = b"\x06", b"\x02"
MARK_BYTES = 4
DIGITS = 8  # the length of an answer has this many digits

# Functions of `ask` and `exchange`. A request runs only if it arrived undamaged, and only once.
# The answer is written by a scheduled function: while it runs, no other one can, so timers do not
# print between its writes, nor during them on boards that serve events while the line is busy.
DEFINITIONS = f"""\
import binascii as _binascii, hashlib as _hashlib, sys as _sys
try:
    from micropython import schedule as _schedule
except ImportError:
    def _schedule(function, parts):
        function(parts)
_asked = None
def _write(parts):
    try:
        for part in parts:
            _sys.stdout.buffer.write(part)
    finally:
        parts.clear()
def _mark(first, digest):
    return first + _binascii.hexlify(digest[:{MARK_BYTES}])
def _reply(digest, answer):
    proof = _hashlib.sha256(digest)
    proof.update(answer)
    parts = [_mark({ANSWER!r}, digest) + b'%08x' % len(answer), answer, proof.digest()]
    while True:
        try:
            _schedule(_write, parts)
            break
        except RuntimeError:  # the queue of scheduled functions is full
            pass
    while parts:  # until its turn
        pass
def _ask(code, digest):
    global _answer, _asked
    if _hashlib.sha256(code).digest() != digest or digest == _asked:
        raise RuntimeError({DAMAGED!r})
    _answer, _asked = None, digest
    exec(code, globals())
    _reply(digest, repr(_answer).encode())
def _exchange(work, size, digest):
    data = bytearray(size)
    _sys.stdout.buffer.write(_mark({READY!r}, digest))
    _sys.stdin.buffer.readinto(data)
    if b'\\x1b' in data:
        data = bytes(data).replace(b'\\x1bC', b'\\x03').replace(b'\\x1b[', b'\\x1b')
    if _hashlib.sha256(data).digest() != digest:
        raise RuntimeError({DAMAGED!r})
    _reply(digest, work(data))
"""
# This tries allocations: gc.mem_free() visits each block, 20 million instructions for 8 MB.
PIECE_BYTES = """\
import gc
gc.collect()
_answer = {largest}
while _answer > {smallest}:
    try:
        bytearray({share} * _answer)
        break
    except MemoryError:
        _answer //= 2
gc.collect()
"""
FILE_HASH = """\
try:
    _file = open({path!r}, 'rb')
except OSError:
    _file = None
if _file:
    with _file:
        _sum, _piece = _hashlib.sha256(), memoryview(bytearray(4096))
        while True:
            _count = _file.readinto(_piece)
            if not _count:
                break
            _sum.update(_piece[:_count])
    _answer = _sum.digest()
"""
# Exceptions that parsers raise for input that no working board sends.
PARSE_ERRORS = (
    ArithmeticError,
    LookupError,
    MemoryError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)


def mark(first: bytes, digest: bytes) -> bytes:
    """Return the mark that begins with this byte, for a request with this hash."""
    return first + digest[:MARK_BYTES].hex().encode()


def literal(text: str) -> Any:
    """Parse a literal that a board sent; BoardError if the text is not a literal."""
    try:
        value = ast.literal_eval(text)
        repr(value)  # fails for numbers of 5,000 digits, which no message could show
        return value
    except PARSE_ERRORS:
        shown = text if len(text) < 100 else f"{text[:100]}..."
        raise BoardError(f"the board's answer is not a Python literal: {shown}") from None


# A type, or the types of a tuple's values.
Kind = type | tuple[type | UnionType, ...]
_KINDS: dict[Any, str] = {
    int: "a number",
    str: "text",
    bytes: "bytes",
    list: "a list",
    tuple: "a tuple",
}


def checked(answer: Any, kind: Kind, port: str) -> Any:
    """Return the answer of the board at `port`; BoardError if it is of another type."""
    kinds, values = (kind, answer) if isinstance(kind, tuple) else ((kind,), (answer,))
    right = isinstance(values, tuple) and len(values) == len(kinds)
    if not right or not all(map(isinstance, values, kinds)):
        names = ", ".join(_KINDS.get(each, "a value") for each in kinds)
        raise BoardError(f"the board at {port} answered {answer!r:.100}, expected {names}")
    return answer


def encoded(data: bytes) -> str:
    """Encode bytes as an expression in code for `ask`, which is shorter than a literal."""
    return f"_binascii.a2b_base64({base64.b64encode(data)!r})"
