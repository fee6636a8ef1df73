# SPDX-License-Identifier: MIT
"""Pictures are converted as defined, under AddressSanitizer and on the board."""

import itertools
import struct
import subprocess

import numpy as np
import pytest
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim.oracle import Oracle

from host_tests.kit import sharing

from . import definition
from .definition import (
    AREA,
    BILINEAR,
    CORNERS,
    CROP,
    GRAY,
    NEAREST,
    PAD,
    PIXEL,
    RGB565,
    RGB888,
    STRETCH,
    Case,
)

SOURCES = sharing.REPO / "modules/ethosu/image"
SANITIZE = ["-g1", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
DTYPES = ("int8", "uint8", "int16", "float32")


@pytest.fixture(scope="module")
def program():
    strict = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wconversion", "-Wshadow"]
    here = sharing.REPO / "host_tests/modules/ethosu/image/cases.c"
    sources = [here, *sorted(SOURCES.glob("*.c"))]
    return sharing.program(
        "image_cases",
        ["gcc", *strict, *SANITIZE, f"-I{SOURCES}", f"-I{SOURCES.parent}", *sources, "-o"],
    )


def random_case(rng: np.random.Generator) -> Case:
    kind = int(rng.integers(3))
    height, width = (int(n) for n in rng.integers(1, 40, 2))
    count = int(rng.choice([1, 3]))
    x, y = int(rng.integers(width)), int(rng.integers(height))
    roi = x, y, int(rng.integers(1, width - x + 1)), int(rng.integers(1, height - y + 1))
    dtype = np.dtype(DTYPES[rng.integers(4)])
    table = rng.integers(0, 256, (count, 256 * dtype.itemsize), np.uint8).view(dtype)
    return Case(
        pixels=rng.integers(0, 256, (height, width, PIXEL[kind]), np.uint8),
        format=kind,
        target=(*(int(n) for n in rng.integers(1, 50, 2)), count),
        roi=roi if rng.integers(2) else None,
        quarters=int(rng.integers(4)),
        mirror=bool(rng.integers(2)),
        fit=int(rng.integers(3)),
        filter=int(rng.integers(4)),
        table=[None, table, table[0]][rng.integers(3)],
    )


def record(case: Case) -> bytes:
    """Encode a case in the input format of cases.c."""
    height, width, _ = case.pixels.shape
    table = b"" if case.table is None else case.table.tobytes()
    size = 1 if case.table is None else case.table.dtype.itemsize
    step = 256 if case.table is not None and case.table.ndim == 2 else 0
    th, tw, count = case.target
    roi = case.roi or (0, 0, width, height)
    numbers = [width, height, case.format, *roi, case.quarters, case.mirror, case.fit, case.filter]
    numbers += [tw, th, count, size, step, len(table)]
    return struct.pack("<17i", *numbers) + case.pixels.tobytes() + table


def large_cases(rng: np.random.Generator) -> list[Case]:
    """Make cases whose rounded steps pass the last pixel, or whose numbers nearly overflow."""
    sizes = [((3, 1001), (3, 2000)), ((18, 5), (1053, 5)), ((2, 17), (2, 16384)), ((1, 9), (9, 3))]
    shapes = [(rng.integers(0, 256, (*size, PIXEL[kind]), np.uint8), kind, (*into, count))
              for size, into in sizes for kind in range(3) for count in (1, 3)]  # fmt: skip
    cases = [
        Case(pixels=pixels, format=kind, target=target, filter=how)
        for pixels, kind, target in shapes
        for how in range(4)
    ]
    wide = rng.integers(0, 256, (8, 640, 1), np.uint8)
    edge = Case(wide, GRAY, (8, 640, 1), roi=(600, 0, 8, 8), filter=CORNERS)
    return [*cases, edge]


def test_random_cases(program):
    rng = np.random.default_rng(19)
    cases = [random_case(rng) for _ in range(1000)] + large_cases(rng)
    same = [(8, 2), (1, 7), (6, 1)]
    for kind, (height, width) in itertools.product(range(3), same):
        pixels = rng.integers(0, 256, (height, width, PIXEL[kind]), np.uint8)
        cases += [Case(pixels, kind, (height, width, n), filter=CORNERS) for n in (1, 3)]
    asked = b"".join(record(case) for case in cases)
    done = subprocess.run([program], input=asked, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    position = 0
    for case in cases:
        wanted = definition.write(case).tobytes()
        assert done.stdout[position : position + len(wanted)] == wanted, case
        position += len(wanted)
    assert position == len(done.stdout)


@pytest.mark.parametrize("kind", ["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"])
@pytest.mark.parametrize(
    "size", [((7, 5), (7, 5)), ((9, 31), (24, 24)), ((96, 64), (17, 33)), ((3, 1), (10, 8))]
)
def test_the_definition_is_tensorflow_lites(tmp_path, kind, size):
    """The definition equals TFLite's with half_pixel_centers; int16 stores 0 to 255."""
    (height, width), into = size
    graph = Graph("resize")
    shape, out = (1, height, width, 3), (1, *into, 3)
    given = graph.tensor("in", shape, "int16", 1.0)
    sizes = graph.constant("size", np.array(into, np.int32))
    result = graph.tensor("out", out, "int16", 1.0)
    words = {
        "RESIZE_BILINEAR": "ResizeBilinear",
        "RESIZE_NEAREST_NEIGHBOR": "ResizeNearestNeighbor",
    }
    options = {"alignCorners": False, "halfPixelCenters": True}
    graph.operator(kind, [given, sizes], [result], f"{words[kind]}Options", **options)
    graph.inputs, graph.outputs = [given], [result]
    path = tmp_path / "resize.tflite"
    path.write_bytes(write([graph], "resize"))
    pixels = np.random.default_rng(1).integers(0, 256, shape).astype(np.int16)
    (wanted,) = Oracle(path).step([pixels])
    how = BILINEAR if kind == "RESIZE_BILINEAR" else NEAREST
    assert (definition.resize(pixels[0].astype(np.int64), *into, how) == wanted[0]).all()


def test_565_and_grey_are_nearest():
    """All 5-bit and 6-bit values follow the documented rule of division and rounding."""
    both = np.arange(65536, dtype=np.uint16)
    pixels = both.view(np.uint8).reshape(256, 256, 2)
    rgb = definition.channels(pixels, RGB565, 3).reshape(-1, 3)
    assert (rgb[:, 0] == np.round((both >> 11) * 255 / 31)).all()
    assert (rgb[:, 1] == np.round((both >> 5 & 63) * 255 / 63)).all()


ON_BOARD = [
    (GRAY, 1, BILINEAR, STRETCH, 0),
    (GRAY, 3, BILINEAR, PAD, 1),
    (RGB888, 3, BILINEAR, CROP, 2),
    (RGB888, 1, BILINEAR, STRETCH, 3),
    (RGB565, 3, BILINEAR, PAD, 0),
    (RGB565, 1, NEAREST, CROP, 1),
    (RGB888, 3, NEAREST, STRETCH, 0),
    (GRAY, 1, NEAREST, PAD, 2),
    (RGB565, 3, AREA, PAD, 3),
    (GRAY, 1, AREA, CROP, 0),
    (GRAY, 3, AREA, STRETCH, 2),
    (RGB565, 1, AREA, STRETCH, 1),
    (RGB888, 3, AREA, CROP, 0),
    (RGB888, 1, AREA, PAD, 2),
    (RGB565, 1, BILINEAR, CROP, 3),
    (RGB565, 3, NEAREST, STRETCH, 2),
    (RGB565, 3, CORNERS, STRETCH, 0),
    (RGB565, 1, CORNERS, STRETCH, 0),
    (GRAY, 1, CORNERS, CROP, 0),
]


@pytest.mark.parametrize("kind, count, how, fit, quarters", ON_BOARD)
def test_on_the_board(board, kind, count, how, fit, quarters):
    """Vector loops on the board equal the definition; 32 x 24 without rotation is a copy."""
    pixels = np.random.default_rng(4).integers(0, 256, (24, 32, PIXEL[kind]), np.uint8)
    board.exec(
        "import ethosu_image as image\n"
        f"see = image.Input({pixels.tobytes()!r}, (32, 24), {kind}, rotate={90 * quarters}, "
        f"mirror={bool(fit)}, fit={fit}, filter={how})\n"
    )
    for size in (24, 32), (17, 19), (5, 6), (40, 3), (3, 1598):
        case = Case(pixels, kind, (*size, count), None, quarters, bool(fit), fit, how)
        case.table = np.arange(256, dtype=np.uint8) ^ 128
        board.exec(
            f"memory = bytearray({size[0] * size[1] * count})\n"
            f"see(memory, {(1, *size, count)}, 'b')"
        )
        assert board.eval("bytes(memory)") == definition.write(case).tobytes(), size


@pytest.mark.parametrize("how", [NEAREST, BILINEAR, AREA])
def test_pixels_at_an_odd_address_on_the_board(board, how):
    """Pixels at odd addresses, which MVE cannot load, and means of whole pictures are right."""
    pixels = np.random.default_rng(5).integers(0, 256, (60, 64, 2), np.uint8)
    for first, size in ((1, (7, 9)), (0, (1, 1))):
        board.exec(
            "import ethosu_image as image\n"
            f"frame = bytearray({bytes(first) + pixels.tobytes()!r})\n"
            f"see = image.Input(memoryview(frame)[{first}:], (64, 60), 1, filter={how})\n"
            f"memory = bytearray({size[0] * size[1] * 3})\nsee(memory, {(*size, 3)}, 'B')"
        )
        case = Case(pixels, RGB565, (*size, 3), filter=how)
        assert board.eval("bytes(memory)") == definition.write(case).tobytes()
