# SPDX-License-Identifier: MIT
"""OpenMV's microphone `audio` for a board without one: sound is a file, then silence.

No sound is lost: a piece is read when the program takes it.
"""

import struct

import machine

PATH = "/rom/sound.wav"

_file = _timer = None
_piece = b""
_period = 0


def init(channels=1, frequency=16000, samples=512):
    """Set the piece size to `samples` 16-bit samples; the file must match the other arguments."""
    global _file, _piece, _period
    stop_streaming()
    if _file is not None:
        _file.close()
        _file = None
    try:
        file = open(PATH, "rb")  # noqa: SIM115
    except OSError:
        raise OSError(19, f"no microphone: {PATH} does not exist") from None
    found = _open_wave(file)
    if found != (channels, frequency):
        raise ValueError(
            f"{PATH} has {found[0]} channels at {found[1]} Hz, expected {channels} at {frequency}"
        )
    _piece = bytearray(2 * channels * samples)
    _file = file  # comes after what may find no memory, as start_streaming() looks for it
    _period = max(1, samples * 1000 // frequency)


def _open_wave(file):
    """Seek to the samples of a 16-bit WAVE file; return (channels, frequency)."""
    if file.read(4) != b"RIFF" or file.read(8)[4:] != b"WAVE":
        raise ValueError(f"{PATH} is not a WAVE file")
    found = None
    while True:
        head = file.read(8)
        if len(head) < 8:
            raise ValueError(f"{PATH} has no samples")
        size = struct.unpack("<I", head[4:])[0]
        if head[:4] == b"data":
            break
        body = file.read(size + size % 2)
        if head[:4] == b"fmt ":
            kind, channels, frequency, _, _, bits = struct.unpack("<HHIIHH", body)
            if bits != 16 or kind != 1:
                raise ValueError(f"{PATH} has {bits} bits per sample, expected 16-bit PCM")
            found = channels, frequency
    if found is None:
        raise ValueError(f"{PATH} has samples without a format")
    return found


def start_streaming(callback):
    """Call `callback(piece)` for each piece from now on."""
    global _timer
    if _file is None:
        raise RuntimeError("audio.init() was not called")
    stop_streaming()

    def deliver(_):
        read = _file.readinto(_piece)
        if read < len(_piece):
            _piece[read:] = bytes(len(_piece) - read)
        callback(_piece)

    _timer = machine.Timer(-1, period=_period, callback=deliver)


def stop_streaming():
    """Stop the calls."""
    global _timer
    if _timer is not None:
        _timer.deinit()
        _timer = None
