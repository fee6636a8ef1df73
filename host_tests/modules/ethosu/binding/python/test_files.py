# SPDX-License-Identifier: MIT
"""ethosu_files reads sounds that sox wrote, and pictures laid out by hand."""

import struct
import subprocess

import numpy as np
import pytest

from host_tests.kit.board_models import raised

RNG = np.random.default_rng(1)
SAMPLES = RNG.integers(-20000, 20000, 16000).astype("<i2")
READ = "from ethosu_files import Wav, bmp, features\nimport ethosu_image, ethosu_audio\n"


@pytest.fixture(autouse=True)
def imported(board):
    board.exec(READ)


def sox(path, *options):
    """Let sox write a .wav file of SAMPLES."""
    raw = ["sox", "-t", "raw", "-r", "16000", "-e", "signed", "-b", "16", "-c", "1", "-"]
    subprocess.run([*raw, *options, path], input=SAMPLES.tobytes(), check=True, capture_output=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def wav(tmp_path_factory):
    return sox(tmp_path_factory.mktemp("wav") / "plain.wav")


def read_all(board, data):
    board.write_file("/sound.wav", data)
    board.exec(
        "sound = Wav('/sound.wav')\nbuffer = bytearray(1000)\ngot = bytearray()\n"
        "while n := sound.readinto(buffer): got += buffer[:n]\nsound.close()"
    )
    return board.eval("bytes(got)")


def test_samples_are_read_to_their_end_and_no_further(board, wav):
    at = wav.index(b"data")
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0"
    cases = {
        "as sox writes it": wav,
        "with a chunk of odd length before": wav[:at] + odd + wav[at:],
        "with a chunk behind": wav + b"LIST" + struct.pack("<I", 4) + b"abcd",
        "of unknown length": wav[: at + 4] + b"\xff\xff\xff\xff" + wav[at + 8 :],
    }
    for name, data in cases.items():
        assert read_all(board, data) == SAMPLES.tobytes(), name
    board.write_file("/sound.wav", wav + b"LIST" + struct.pack("<I", 400) + bytes(400))
    board.exec("from array import array\nwide, sound = array('h', bytes(3000)), Wav('/sound.wav')")
    board.exec("total = 0\nwhile n := sound.readinto(wide): total += n\nsound.close()")
    assert board.eval("total") == len(SAMPLES.tobytes())  # bytes, also of wider elements
    assert read_all(board, wav[:-100]) == SAMPLES.tobytes()[:-100], "a shorter file"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["-r", "44100"], "format 1, channels 1, bits 16, rate 44100 Hz;"),
        (["-c", "2"], "channels 2, bits 16"),
        (["-b", "24"], "channels 1, bits 24"),
        (["-e", "a-law"], "format 6, channels 1, bits 8"),
    ],
)
def test_other_sounds_are_refused_by_name(board, tmp_path, options, found):
    board.write_file("/sound.wav", sox(tmp_path / "other.wav", *options))
    message = raised(board, "Wav('/sound.wav')")
    assert message.startswith("ValueError /sound.wav: ") and found in message
    assert message.endswith("expected format 1 (PCM), channels 1, bits 16, rate 16000 Hz")


def test_what_is_no_sound_is_refused(board, wav):
    at = wav.index(b"data")
    fmt = wav.index(b"fmt ")
    for data in (b"", wav[:11], wav[:30], b"RIFX" + wav[4:], wav[:at], wav[:fmt] + wav[at:]):
        board.write_file("/sound.wav", data)
        message = raised(board, "Wav('/sound.wav')")
        assert message.startswith("ValueError /sound.wav: ") and "; expected " in message


def test_features_of_a_file_are_those_of_its_samples(board, wav):
    board.write_file("/sound.wav", wav)
    board.write_file("/sound.pcm", SAMPLES.tobytes())
    board.exec(
        "from array import array\n"
        "front = ethosu_audio.MicroFrontend()\n"
        "whole = array('f', bytes(4 * 40 * front.rows(16000)))\n"
        "with open('/sound.pcm', 'rb') as file: front.process(file.read(), whole)\n"
        "got = array('f')\n"
        "sound = Wav('/sound.wav', rate=16000)\n"
        "for rows in features(ethosu_audio.MicroFrontend(), sound, rows=3): got.extend(rows)"
    )
    assert board.eval("len(whole) // 40") == 98
    assert board.eval("len(got) // 40") == 96  # read in groups of three
    assert board.eval("bytes(got) == bytes(whole[:len(got)])") is True


def picture(bits, width, height, *, masks=(), palette=b"", size=40):
    """Make a .bmp file by the published layout; returns its pixels, too, from the top."""
    step = bits // 8
    data = RNG.integers(0, 256, (abs(height), width, step)).astype(np.uint8)
    padding = bytes(-(width * step) % 4)
    body = b"".join(row.tobytes() + padding for row in (data if height < 0 else data[::-1]))
    info = struct.pack("<IiiHHI20x", size, width, height, 1, bits, 3 if masks else 0)
    info += struct.pack(f"<{len(masks)}I", *masks)
    info = info.ljust(size, b"\0") + palette
    start = 14 + len(info)
    head = struct.pack("<2sIII", b"BM", start + len(body), 0, start)
    return head + info + body, data[..., 2::-1] if step > 2 else data


GREYS = b"".join(bytes((i, i, i, 0)) for i in range(256))
MASKS_565 = (0xF800, 0x07E0, 0x001F)
PICTURES = [
    ("RGB888", {"bits": 24}),
    ("RGB888", {"bits": 32}),
    ("RGB888", {"bits": 32, "masks": (0xFF0000, 0xFF00, 0xFF, 0xFF000000), "size": 108}),
    ("RGB565", {"bits": 16, "masks": MASKS_565}),
    ("GRAY", {"bits": 8, "palette": GREYS}),
]


@pytest.mark.parametrize("height", [5, -5])
@pytest.mark.parametrize("width", [4, 7])
def test_pictures_are_read_from_the_top(board, width, height):
    for kind, how in PICTURES:
        data, pixels = picture(width=width, height=height, **how)
        board.write_file("/p.bmp", data)
        board.exec("pixels, size, kind = bmp('/p.bmp')")
        assert board.eval("size") == (width, 5)
        assert board.eval(f"kind == ethosu_image.{kind}") is True, how
        assert board.eval("bytes(pixels)") == pixels.tobytes(), how


def test_other_pictures_are_refused(board):
    good, _ = picture(24, 4, 5)
    cases = {
        "no header": b"",
        "of a bitmap": b"PM" + good[2:],
        "4 x 5 pixels of 16 bits, compression 0": picture(16, 4, 5)[0],
        "4 x 5 pixels of 16 bits, compression 3": picture(16, 4, 5, masks=(31, 0x7E0, 0xF800))[0],
        "of 8 bits": picture(8, 4, 5, palette=GREYS[::-1])[0],
        "of 4 bits": good[:28] + b"\x04" + good[29:],
        "4 x 0 pixels": good[:22] + bytes(4) + good[26:],
        "113 bytes; expected 114": good[:-1],
        "114 bytes; expected": picture(24, 4, 5)[0][:18] + struct.pack("<i", 10**9) + good[22:],
    }
    for found, data in cases.items():
        board.write_file("/p.bmp", data)
        message = raised(board, "bmp('/p.bmp')")
        assert message.startswith("ValueError /p.bmp: ") and "; expected " in message
        assert found in message, message
