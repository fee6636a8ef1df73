# SPDX-License-Identifier: MIT
"""An emulated board finds discs in a picture: `python tools/setup/discs.py found.png`.

With a folder in the place of found.png, it only writes the example's files for /rom there.

The model has the structure of a FOMO detector: the mean of 8 x 8 pixels, then a convolution that
distinguishes red and green from the rest. Its few weights are defined here, not downloaded.
"""

from __future__ import annotations

import argparse
import struct
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from ethosu_tools.base import paths
from ethosu_tools.base.files import write_whole
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile.vela import compile_model
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs, tflite
from ethosu_tools.model.arrays import Array
from ethosu_tools.model.tflite import model_metadata
from ethosu_tools.model.tflite.writer import Graph, write

NPU = "ethos-u55-128"
LABELS = ("nothing", "red", "green")
SIZE = 320, 240
COLORS = {"red": (220, 30, 30), "green": (20, 170, 60)}
# Label, centre, radius.
DISCS = (("red", (70, 80), 34), ("green", (210, 60), 26), ("green", (120, 190), 30),
         ("red", (265, 175), 40))  # fmt: skip
_LOGITS = np.array([[0, 0, 0], [10, -10, 0], [-10, 10, 0]], np.float32)
_BIASES = np.array([0, -2.5, -2.5], np.float32)
_STRIDE, _SIDE = 8, 96


@dataclass(frozen=True)
class Found:
    """An object: its label, its score, and its box in pixels."""

    label: str
    score: float
    box: tuple[int, int, int, int]


def make_model() -> bytes:
    """The model, int8, for pictures of 96 x 96 with 3 channels from 0 to 1."""
    graph = Graph("discs")
    step, cells = 1 / 255, _SIDE // _STRIDE
    pixels = graph.tensor("image", (1, _SIDE, _SIDE, 3), "int8", step, -128)
    means = graph.tensor("means", (1, cells, cells, 3), "int8", step, -128)
    logits = graph.tensor("logits", (1, cells, cells, 3), "int8", 0.125, 0)
    scores = graph.tensor("scores", (1, cells, cells, 3), "int8", 1 / 256, -128)
    scale = np.abs(_LOGITS).max() / 127
    weights = np.round(_LOGITS / scale).astype(np.int8).reshape(3, 1, 1, 3)
    kernel = graph.constant("weights", weights, scale)
    biases = np.round(_BIASES / (scale * step)).astype(np.int32)
    bias = graph.constant("biases", biases, scale * step)
    graph.operator(
        "AVERAGE_POOL_2D",
        [pixels],
        [means],
        "Pool2DOptions",
        padding=1,
        strideW=_STRIDE,
        strideH=_STRIDE,
        filterWidth=_STRIDE,
        filterHeight=_STRIDE,
    )
    graph.operator(
        "CONV_2D", [means, kernel, bias], [logits], "Conv2DOptions", padding=1, strideW=1, strideH=1
    )
    graph.operator("SOFTMAX", [logits], [scores], "SoftmaxOptions", beta=1.0)
    graph.inputs, graph.outputs = [pixels], [scores]
    return write([graph], "discs")


def make_picture() -> Array:
    """A picture of discs on a grey ramp: uint8, height x width x 3."""
    width, height = SIZE
    y, x = np.mgrid[:height, :width]
    picture = np.repeat((150 + 80 * x / width)[..., None], 3, axis=2).astype(np.uint8)
    for label, (cx, cy), radius in DISCS:
        picture[(x - cx) ** 2 + (y - cy) ** 2 <= radius**2] = COLORS[label]
    return picture


def to_bmp(picture: Array) -> bytes:
    """A .bmp file of 24 bits per pixel: rows from the bottom up, blue first."""
    height, width, _ = picture.shape
    rows = np.zeros((height, (3 * width + 3) // 4 * 4), np.uint8)
    rows[:, : 3 * width] = picture[::-1, :, ::-1].reshape(height, 3 * width)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, rows.size, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + rows.size, 0, 0, 54) + head + rows.tobytes()


def rom_files(npu: str = NPU) -> dict[str, bytes]:
    """The files that the example of modules/ethosu/examples loads."""
    with tempfile.TemporaryDirectory(prefix="ethosu-") as folder:
        source, out = Path(folder) / "discs.tflite", Path(folder) / "out.tflite"
        source.write_bytes(make_model())
        compile_model(source, npu, out)
        description = tflite.describe(out)
        counts = len(description.inputs), len(description.outputs)
        labels = model_metadata.ModelMetadata(LABELS)
        model = model_metadata.write(out.read_bytes(), labels, *counts)
    return {"discs.tflite": model, "discs.bmp": to_bmp(make_picture())}


def find(script: Path, npu: str = NPU) -> list[Found]:
    """Run the example on an emulated board."""
    with QemuBoard(Machine(emulated(npu=npu), romfs=romfs.build(rom_files(npu)))) as board:
        printed = board.exec(script.read_text(), timeout=30)
    return [parse(line) for line in printed.splitlines()]


def parse(line: str) -> Found:
    """One line of the example's output."""
    label, score, *box = line.split()
    x, y, width, height = (int(each) for each in box)
    return Found(label, float(score), (x, y, width, height))


def draw(picture: Array, discs: list[Found]) -> Array:
    """The picture with a three-pixel frame around each box, in a darker shade of its colour."""
    result = picture.copy()
    for disc in discs:
        x, y, width, height = disc.box
        x0, y0 = max(x, 0), max(y, 0)
        inside = result[y0 : y + height, x0 : x + width].copy()
        result[y0 : y + height, x0 : x + width] = np.array(COLORS[disc.label]) // 2
        result[y0 + 3 : y + height - 3, x0 + 3 : x + width - 3] = inside[3:-3, 3:-3]
    return result


def png(picture: Array) -> bytes:
    """A picture as a PNG file."""
    height, width, _ = picture.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    )


def main(arguments: list[str] | None = None) -> None:
    """Find the discs, print them, draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, metavar="FILE.png", help="the picture with boxes")
    args = parser.parse_args(arguments)
    if args.output.is_dir():
        for name, data in rom_files().items():
            write_whole(args.output / name, data)
        return
    discs = find(paths.root() / "modules/ethosu/examples/objects.py")
    for disc in discs:
        print(f"{disc.label:<6} {disc.score:.2f} at {disc.box}")
    write_whole(args.output, png(draw(make_picture(), discs)))
    print(f"{len(discs)} objects; the boxes are drawn in {args.output}")


if __name__ == "__main__":
    main()
