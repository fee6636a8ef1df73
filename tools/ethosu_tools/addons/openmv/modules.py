# SPDX-License-Identifier: MIT
"""Builds a ROM file system for a board that runs OpenMV scripts without a camera.

lib/ has the modules of modules/openmv/, and frames/ has pictures in the modules' format: BMP with
16 bits per pixel. The sound file is sound.wav.

    ethosu qemu --board BOARD --romfs DIR --openmv
"""

import struct
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...base import paths
from ...base.errors import InputError, SetupError
from ...model import arrays
from ...model.romfs import Tree

HELP = (
    "add OpenMV's csi, image, audio and time.clock, for scripts that use `ml`: frames are the "
    "pictures in DIR/frames of --romfs, sound is DIR/sound.wav (modules/ml/README.md); uses the "
    "firmware with ulab if it is built"
)
FRAMES = "frames"
# Formats that Pillow can read and the board cannot.
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".ppm", ".webp")


def tree_of(content: Tree) -> Tree:
    """Collect the user's files and the modules; a user's file replaces a module of that name."""
    tree: dict[str, Any] = dict(content)
    files = sorted((paths.root() / "modules/openmv").glob("*.py"))
    modules = {path.name: path.read_bytes() for path in files}
    tree["lib"] = modules | dict(_folder(tree, "lib"))
    frames = dict(_folder(tree, FRAMES))
    for name in sorted(frames):
        stem, dot, ending = name.rpartition(".")
        if f".{ending.lower()}" in _PICTURES or _is_other_bmp(frames[name]):
            bmp = stem + dot + "bmp"
            picture = frames.pop(name)
            if bmp in frames:
                raise InputError(f"{FRAMES}/{name} becomes {bmp}, which also exists: rename one")
            frames[bmp] = _bmp(f"{FRAMES}/{name}", picture)
    if frames:
        tree[FRAMES] = dict(sorted(frames.items()))
    return tree


def _folder(tree: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    folder = tree.get(name, {})
    if not isinstance(folder, Mapping):
        raise InputError(f"{name} is a file, expected a folder")
    return folder


def _is_other_bmp(content: Any) -> bool:
    """Whether a .bmp file has another depth than 16 bits per pixel, as is usual."""
    if not isinstance(content, bytes) or content[:2] != b"BM" or len(content) < 30:
        return False
    return int.from_bytes(content[28:30], "little") != 16


def _bmp(path: str, content: bytes) -> bytes:
    """Convert a picture to an RGB565 BMP, with rows from the top."""
    try:
        pixels = arrays.picture(path, content, "RGB").astype(np.uint16)
    except SetupError as error:
        raise SetupError(f"{error}, or convert it to a .bmp with 16 bits per pixel") from None
    height, width, _ = pixels.shape
    red, green, blue = (pixels[..., i] for i in range(3))
    rows = np.zeros((height, (width + 1) // 2 * 2), "<u2")
    rows[:, :width] = (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
    head = struct.pack("<IIiiHHI", 66, 40, width, -height, 1, 16, 3)
    masks = struct.pack("<IiiIIIII", rows.nbytes, 0, 0, 0, 0, 0xF800, 0x07E0, 0x001F)
    return b"BM" + struct.pack("<II", 66 + rows.nbytes, 0) + head + masks + rows.tobytes()
