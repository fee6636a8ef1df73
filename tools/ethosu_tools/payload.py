# SPDX-License-Identifier: MIT
"""What Vela packs around a command stream: "COP1", a list of driver actions, or "COP2".

Facts: Vela's driver_actions.py, and custom_operator_ethosu.hpp of its regor part.
"""

import struct
from dataclasses import dataclass, replace

from .errors import InputError

_PRODUCTS = {0: "ethos-u55", 1: "ethos-u65", 2: "ethos-u85"}

# COP1's actions: command in bits 7:0, a count of words in the bits above.
_ACTION_CONFIG = 1
_ACTION_STREAM = 2

# COP2: header, entry, metadata; this is where their words lie.
_ENTRY_BYTES = 20
_METADATA_BYTES = 24
_METADATA = 28
_CONFIG = _METADATA + 12
_FEATURES = _METADATA + 20
_LEAST_METADATA = 32
_SEPARATE_IO = 2  # bit of the feature flags


@dataclass(frozen=True)
class Payload:
    """One command stream; config: the CONFIG register of the NPU it is for, None: not said."""

    stream: bytes
    config: int | None = None
    separate_io: bool = False

    @property
    def npu(self) -> str:
        """Vela's name of the NPU that it is for."""
        return "unknown" if self.config is None else npu_name(self.config)


def npu_name(config: int) -> str:
    """Vela's name of an NPU, from its CONFIG register."""
    product = _PRODUCTS.get(config >> 28, f"product{config >> 28}")
    return f"{product}-{1 << (config & 0xF)}"


def read(data: bytes) -> Payload:
    """Read a driver payload; what is malformed is one InputError."""
    reader = {b"COP1": _read_actions, b"COP2": _read_entry}.get(data[:4])
    if reader is None:
        raise InputError(
            f"a driver payload starts with b'COP1' or b'COP2', found {bytes(data[:4])!r}"
        )
    return reader(data)


def _read_actions(data: bytes) -> Payload:
    words = struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])
    payload, at = Payload(b""), 1
    while at < len(words):
        action, length = words[at] & 0xFF, 0
        if action == _ACTION_CONFIG:
            payload = replace(payload, config=_word(data, 4 * at + 4))
            length = 2
        elif action == _ACTION_STREAM:
            length = words[at] >> 16 | (words[at] >> 8 & 0xFF) << 16
            payload = replace(payload, stream=data[4 * at + 4 : 4 * (at + 1 + length)])
        at += 1 + length
    if at > len(words):
        raise InputError(f"a command stream ends {(at - len(words)) * 4} bytes after its payload")
    return _with_stream(payload)


def _read_entry(data: bytes) -> Payload:
    metadata = _word(data, _METADATA_BYTES)
    start = _METADATA + metadata
    end = _METADATA_BYTES + _word(data, _ENTRY_BYTES)
    if not start <= end <= len(data):
        raise InputError(
            f"a command stream at bytes {start} to {end} is not within its payload of {len(data)}"
        )
    payload = Payload(data[start:end])
    if metadata >= _LEAST_METADATA:
        separate_io = bool(_word(data, _FEATURES) & _SEPARATE_IO)
        payload = replace(payload, config=_word(data, _CONFIG), separate_io=separate_io)
    return _with_stream(payload)


def _with_stream(payload: Payload) -> Payload:
    if not payload.stream:
        raise InputError("a driver payload holds no command stream")
    return payload


def _word(data: bytes, at: int) -> int:
    if at + 4 > len(data):
        raise InputError(f"a driver payload of {len(data)} bytes ends before its word at byte {at}")
    return int(struct.unpack_from("<I", data, at)[0])
