# SPDX-License-Identifier: MIT
"""Sounds and pictures from files, as input for models: .wav and .bmp.

for rows in features(MicroFrontend(), Wav("/rom/okay_nabu.wav"), 3):
    print(model.predict([rows]))

see = ethosu_image.Input(*bmp("/rom/discs.bmp"), fit=ethosu_image.PAD)
"""

from array import array
from struct import unpack

from ethosu_audio import RATE, Ring
from ethosu_image import GRAY, RGB565, RGB888

_PCM, _EXTENSIBLE = 1, 0xFFFE
_TO_THE_END = 0xFFFFFFFF  # the size that programs write which do not know it: to a pipe
_RGB, _MASKS = 0, 3
_MASKS_OF = {16: (0xF800, 0x07E0, 0x001F), 32: (0xFF0000, 0xFF00, 0xFF)}


def _refuse(file, found, expected):
    raise ValueError(f"{file}: {found}; expected {expected}")


class Wav:
    """The samples of a .wav file, as a stream: `Ring.fill()` reads it.

    `rate`: samples per second. Raises ValueError unless the file has one channel of 16-bit PCM at
    that rate; `sox IN.wav -r 16000 -c 1 -b 16 OUT.wav` on the PC makes such a file.
    """

    def __init__(self, path: str, rate: int = RATE) -> None:
        self._file = open(path, "rb")  # noqa: SIM115  (closed by close())
        try:
            self._left = self._find(path, rate)
        except Exception:
            self._file.close()
            raise

    def _find(self, path, rate):
        """Go to the samples; returns their bytes."""
        kind, _, form = unpack("<4sI4s", self._header(path, 12))
        if kind != b"RIFF" or form != b"WAVE":
            _refuse(path, "no RIFF header with WAVE", "a .wav file")
        form = None
        while True:
            kind, size = unpack("<4sI", self._header(path, 8))
            if kind == b"data":
                break
            skip = size + (size & 1)
            if kind == b"fmt " and size >= 16:
                form = unpack("<HHIIHH", self._header(path, 16))
                skip -= 16
            self._file.seek(skip, 1)
        if not form:
            _refuse(path, "samples without a format", "a chunk `fmt ` before `data`")
        code, channels, found, _, _, bits = form
        if code not in (_PCM, _EXTENSIBLE) or channels != 1 or bits != 16 or found != rate:
            _refuse(
                path,
                f"format {code}, channels {channels}, bits {bits}, rate {found} Hz",
                f"format 1 (PCM), channels 1, bits 16, rate {rate} Hz",
            )
        return size if size != _TO_THE_END else -1

    def _header(self, path, count):
        found = self._file.read(count)
        if len(found) != count:
            _refuse(path, "the end of the file before its samples", "a .wav file")
        return found

    def readinto(self, buffer) -> int:
        """Read samples; returns the number of bytes, 0 at the end."""
        count = self._file.readinto(buffer)
        if self._left >= 0:  # chunks that follow the samples are no sound
            count = min(count, self._left)
            self._left -= count
        return count

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def features(frontend, sound, rows: int = 1):
    """Yield `rows` rows of features of a sound at a time, in one array("f") that is used again.

    `sound`: anything with readinto() that returns 16-bit samples, as a Wav. It ends with the sound;
    rows that are too few for a last array are dropped.
    """
    block = array("f", bytes(4 * rows * frontend.values))
    whole = memoryview(block)
    places = [whole[i * frontend.values : (i + 1) * frontend.values] for i in range(rows)]
    ring = Ring(2 * frontend.window)
    filled = 0
    while True:
        while frontend.process(ring, places[filled]):
            filled += 1
            if filled == rows:
                yield block
                filled = 0
        if not ring.fill(sound, frontend.window):
            return


def bmp(path: str):
    """Pixels, size (width, height) and format of a .bmp file: the arguments of ethosu_image.Input.

    24 and 32 bits become RGB888, 16 bits (5, 6, 5) RGB565, 8 bits with a palette of greys GRAY.
    Raises ValueError for other files.
    """
    with open(path, "rb") as file:
        head = file.read(54)
        if len(head) < 54 or head[:2] != b"BM":
            _refuse(path, "no header of a bitmap", "a .bmp file")
        start, size, width, height, _, bits, packing = unpack("<IIiiHHI", head[10:34])
        pixel_bytes = bits // 8
        if not _reads(file, size, bits, packing) or width <= 0 or not height:
            _refuse(
                path,
                f"{width} x {height} pixels of {bits} bits, compression {packing}",
                "24 or 32 bits, 16 bits as 5, 6 and 5, or 8 bits of grey, not compressed",
            )
        stride = (width * pixel_bytes + 3) & ~3
        rows = abs(height)
        length = file.seek(0, 2)
        if start + stride * rows > length:
            _refuse(path, f"{length} bytes", f"{start + stride * rows}")
        channels = min(pixel_bytes, 3)
        pixels = bytearray(width * rows * channels)
        row = bytearray(stride)
        for y in range(rows):
            file.seek(start + (y if height < 0 else rows - 1 - y) * stride)
            file.readinto(row)
            at = y * width * channels
            if channels == 3:
                _swap(row, pixels, at, width, pixel_bytes)
            else:
                pixels[at : at + width * channels] = memoryview(row)[: width * channels]
    return pixels, (width, rows), (GRAY, RGB565, RGB888)[channels - 1]


def _reads(file, size, bits, packing):
    """Whether pixels of this kind can be read."""
    if packing == _MASKS:
        file.seek(54)  # masks follow the header of 40 bytes, or are in a longer one
        masks = file.read(12)
        return len(masks) == 12 and unpack("<III", masks) == _MASKS_OF.get(bits)
    if bits == 8:
        file.seek(14 + size)
        palette = file.read(1024)
        greys = len(palette) == 1024 and all(
            palette[4 * i : 4 * i + 3] == bytes((i, i, i)) for i in range(256)
        )
        return packing == _RGB and greys
    return packing == _RGB and bits in (24, 32)


def _swap(row, pixels, at, width, step):
    """Blue, green and red of a row become red, green and blue."""
    for i in range(0, width * step, step):
        pixels[at] = row[i + 2]
        pixels[at + 1] = row[i + 1]
        pixels[at + 2] = row[i]
        at += 3
