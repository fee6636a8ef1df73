# SPDX-License-Identifier: MIT
"""OpenMV's `image`, as far as scripts for `ml` use it: pixels, a crop, drawing, .bmp and .pgm.

MicroPython's `framebuf` draws, so shapes and letters are not pixel-identical to OpenMV's.
"""

import struct

import ethosu_image
import framebuf

GRAYSCALE, RGB565 = 1, 2  # as many as a pixel has bytes

_KINDS = {GRAYSCALE: ethosu_image.GRAY, RGB565: ethosu_image.RGB565}
_BUFFERS = {GRAYSCALE: framebuf.GS8, RGB565: framebuf.RGB565}
_WHITE = (255, 255, 255)
_STYLE = "color", "thickness", "fill"


class Image:
    """A picture of GRAYSCALE or RGB565 pixels."""

    def __init__(self, source, height=None, pixformat=RGB565, *, buffer=None, copy_to_fb=False):
        """Read a file, or create Image(width, height, pixformat), optionally on `buffer`.

        A file is a .bmp of 16 bits per pixel (RGB565), or a .pgm of 8. `copy_to_fb` has no effect.
        """
        if isinstance(source, str):
            self._w, self._h, self._format, self._pixels = _read(source)
            return
        self._w, self._h, self._format = source, height, pixformat
        size = source * height * pixformat
        self._pixels = bytearray(size) if buffer is None else memoryview(buffer)[:size]
        if len(self._pixels) != size:
            raise ValueError(f"buffer has {len(self._pixels)} bytes, expected {size}")

    def width(self):
        """Pixels of a line."""
        return self._w

    def height(self):
        """Lines."""
        return self._h

    def format(self):
        """GRAYSCALE or RGB565."""
        return self._format

    def size(self):
        """Bytes of the pixels."""
        return len(self._pixels)

    def bytearray(self):
        """The pixels themselves."""
        return self._pixels

    def copy(self):
        """Another image of the same pixels."""
        return self.crop(roi=(0, 0, self._w, self._h))

    def crop(self, roi, into=None):
        """A copy of the part (x, y, width, height); `into`: an image to reuse if it fits."""
        x, y, width, height = roi
        if x < 0 or y < 0 or width < 1 or height < 1 or x + width > self._w or y + height > self._h:
            raise ValueError(f"roi {roi} is outside an image of {self._w} x {self._h}")
        if into is None or (into._w, into._h, into._format) != (width, height, self._format):
            into = Image(width, height, self._format)
        depth = self._format
        source, target = memoryview(self._pixels), into._pixels
        for row in range(height):
            at = ((y + row) * self._w + x) * depth
            target[row * width * depth : (row + 1) * width * depth] = source[
                at : at + width * depth
            ]
        return into

    def to_grayscale(self):
        """A grey copy."""
        if self._format == GRAYSCALE:
            return self.copy()
        grey = Image(self._w, self._h, GRAYSCALE)
        see = ethosu_image.Input(self._pixels, (self._w, self._h), _KINDS[self._format])
        see(grey._pixels, (self._h, self._w, 1), "B")
        return grey

    def to_rgb565(self):
        """A copy in colour."""
        if self._format == RGB565:
            return self.copy()
        copy = Image(self._w, self._h, RGB565)
        palette = framebuf.FrameBuffer(bytearray(512), 256, 1, framebuf.RGB565)
        for value in range(256):
            palette.pixel(value, 0, _rgb565(value, value, value))
        copy._draw().blit(self._draw(), 0, 0, -1, palette)
        return copy

    def get_pixel(self, x, y):
        """A grey value, or (red, green, blue) from 0 to 255."""
        value = self._draw().pixel(x, y)
        if self._format == GRAYSCALE:
            return value
        red, green, blue = value >> 11, value >> 5 & 63, value & 31
        return (red * 255 + 15) // 31, (green * 255 + 31) // 63, (blue * 255 + 15) // 31

    def set_pixel(self, *args):
        """Set the pixel (x, y) to a colour."""
        (x, y), rest = _place(args, 2)
        self._draw().pixel(int(x), int(y), self._color(rest[0] if rest else _WHITE))

    def draw_line(self, *args, **options):
        """A line (x0, y0, x1, y1)."""
        (x0, y0, x1, y1), rest = _place(args, 4)
        color, thickness, _ = self._style(rest, options)
        draw = self._draw()
        steep = abs(y1 - y0) > abs(x1 - x0)
        for i in range(thickness):
            off = i - (thickness - 1) // 2
            dx, dy = (off, 0) if steep else (0, off)
            draw.line(x0 + dx, y0 + dy, x1 + dx, y1 + dy, color)

    def draw_rectangle(self, *args, **options):
        """A rectangle (x, y, width, height)."""
        (x, y, w, h), rest = _place(args, 4)
        color, thickness, fill = self._style(rest, options)
        draw = self._draw()
        for i in range(1 if fill else thickness):
            draw.rect(x + i, y + i, w - 2 * i, h - 2 * i, color, fill)

    def draw_circle(self, *args, **options):
        """A circle (x, y, radius)."""
        (x, y, r), rest = _place(args, 3)
        color, thickness, fill = self._style(rest, options)
        draw = self._draw()
        for i in range(1 if fill else min(thickness, r + 1)):
            draw.ellipse(x, y, r - i, r - i, color, fill)

    def draw_string(self, *args, **options):
        """Text at (x, y): draw_string((x, y), text, color, scale=1); letters are 8 x 8 pixels."""
        (x, y), (text, *rest) = _place(args, 2)
        color = self._color(options.pop("color", rest[0] if rest else _WHITE))
        scale = int(options.pop("scale", rest[1] if len(rest) > 1 else 1))
        if options:
            raise TypeError(f"draw_string() has no option {list(options)[0]}")  # noqa: RUF015
        draw = self._draw()
        if scale <= 1:
            draw.text(text, x, y, color)
            return
        wide = 8 * len(text)
        letters = framebuf.FrameBuffer(bytearray(wide), wide, 8, framebuf.MONO_HLSB)
        letters.text(text, 0, 0, 1)
        for row in range(8):
            for column in range(wide):
                if letters.pixel(column, row):
                    draw.rect(x + column * scale, y + row * scale, scale, scale, color, True)

    def save(self, path):
        """Write a .bmp (RGB565) or a .pgm (GRAYSCALE)."""
        with open(path, "wb") as file:
            if self._format == GRAYSCALE:
                file.write(f"P5\n{self._w} {self._h}\n255\n".encode())
                file.write(self._pixels)
                return
            step = self._w * 2
            gap = bytes(-step % 4)
            size = (step + len(gap)) * self._h
            # The height is negative: rows begin at the top. Masks of red, green and blue follow.
            file.write(b"BM" + struct.pack("<IIIIiiHHII", 66 + size, 0, 66, 40, self._w, -self._h,
                                           1, 16, 3, size))  # fmt: skip
            file.write(struct.pack("<IIIIIII", 0, 0, 0, 0, 0xF800, 0x07E0, 0x001F))
            pixels = memoryview(self._pixels)
            for row in range(self._h):
                file.write(pixels[row * step : (row + 1) * step])
                file.write(gap)

    def _draw(self):
        return framebuf.FrameBuffer(self._pixels, self._w, self._h, _BUFFERS[self._format])

    def _style(self, rest, options):
        """Colour, thickness, fill: by position or by name."""
        given = {"color": _WHITE, "thickness": 1, "fill": False}
        given.update(zip(_STYLE, rest))  # noqa: B905  (MicroPython)
        for name, value in options.items():
            if name not in given:
                raise TypeError(f"unknown option {name}; expected {', '.join(_STYLE)}")
            given[name] = value
        return self._color(given["color"]), int(given["thickness"]), bool(given["fill"])

    def _color(self, color):
        """The value of a pixel of (red, green, blue), or of a grey value from 0 to 255."""
        red, green, blue = (color,) * 3 if isinstance(color, int) else color
        if self._format == RGB565:
            return _rgb565(red, green, blue)
        return (19595 * red + 38470 * green + 7471 * blue + 32768) >> 16


def _rgb565(red, green, blue):
    return (red & 0xF8) << 8 | (green & 0xFC) << 3 | blue >> 3


def _place(args, count):
    """Numbers, in a tuple or as separate arguments, and the remaining arguments."""
    if isinstance(args[0], (tuple, list)):
        return args[0], args[1:]
    return args[:count], args[count:]


def _read(path):
    """Width, height, format and pixels of a file."""
    with open(path, "rb") as file:
        try:
            data = memoryview(file)  # a file in ROM is used in place
        except TypeError:
            data = file.read()
    if bytes(data[:2]) == b"P5":
        return _read_pgm(path, data)
    if bytes(data[:2]) != b"BM" or len(data) < 54:
        raise ValueError(f"{path} is neither a .bmp nor an 8-bit .pgm")
    start, _, width, height, _, bits, packing = struct.unpack_from("<IIiiHHI", data, 10)
    masks = struct.unpack_from("<III", data, 54) if packing == 3 and len(data) >= 66 else None
    if bits != 16 or masks != (0xF800, 0x07E0, 0x001F):
        raise ValueError(f"{path} has {bits} bits per pixel, expected 16-bit RGB565")
    step, lines = (2 * width + 3) & ~3, abs(height)
    if width < 1 or lines < 1:
        raise ValueError(f"{path} is {width} x {lines} pixels, expected 1 x 1 or more")
    if start + step * lines > len(data):
        raise ValueError(f"{path} ends before its last line")
    pixels = bytearray(2 * width * lines)
    for row in range(lines):
        at = start + step * (lines - 1 - row if height > 0 else row)
        pixels[2 * width * row : 2 * width * (row + 1)] = data[at : at + 2 * width]
    return width, lines, RGB565, pixels


def _read_pgm(path, data):
    """A .pgm as written by `save` and most programs: a header of three numbers, then bytes."""
    head, at = bytes(data[:256]), 2
    numbers = []
    while len(numbers) < 3:
        while head[at : at + 1].isspace():
            at += 1
        if head[at : at + 1] == b"#":
            end = head.find(b"\n", at)
            at = len(head) if end < 0 else end
            continue
        end = at
        while head[end : end + 1].isdigit():
            end += 1
        if end == at:
            raise ValueError(f"{path} is not a .pgm: expected a number at byte {at}")
        numbers.append(int(head[at:end]))
        at = end
    width, height, most = numbers
    pixels = data[at + 1 : at + 1 + width * height]
    if most != 255 or not pixels or len(pixels) != width * height:
        raise ValueError(f"{path} is not an 8-bit .pgm, or ends before its last line")
    return width, height, GRAYSCALE, bytearray(pixels)
