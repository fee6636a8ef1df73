# SPDX-License-Identifier: MIT
"""The sources that are mutated, what is built for them, and which tests run."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Room:
    """A part of the product, with the tests that must find its faults."""

    name: str
    share: int
    """Mutants of 100 that are seeded here."""
    sources: tuple[str, ...]
    """Patterns of the files, from the root of the tree."""
    targets: str
    """What make builds before the tests."""
    tests: tuple[str, ...]
    """Folders and files, the likeliest first; those that a tree lacks are left out."""
    rules: str = "c"
    but: tuple[str, ...] = ()
    """Files that match, and are not mutated."""


MODULE = "modules/ethosu"
TESTS = "host_tests/modules/ethosu"
EXACTNESS = "host_tests/exactness"
IMAGE = "sim-host firmware"

ROOMS = (
    Room(
        "driver", 20, (f"{MODULE}/driver/*.c",), "sim-host-variants", (f"{TESTS}/driver",),
        but=("ethosu_log.c",),
    ),
    Room(
        "runtime", 12, (f"{MODULE}/runtime/*.c",), "sim-host-variants",
        (f"{TESTS}/runtime/test_*.py", f"{TESTS}/runtime", EXACTNESS),
    ),
    Room(
        "kernels", 14, (f"{MODULE}/runtime/kernels/*.c",), "sim-host",
        (f"{TESTS}/runtime/kernels", EXACTNESS),
    ),
    Room(
        "executorch", 8, (f"{MODULE}/runtime/executorch/*.c",), "sim-host-variants",
        (f"{TESTS}/runtime/executorch", EXACTNESS),
    ),
    Room(
        "binding", 12, (f"{MODULE}/binding/*.c",), f"{IMAGE} plugin",
        (f"{TESTS}/binding", "host_tests/boards/MPS3_AN547", "host_tests/campaigns/board"),
    ),
    Room(
        "front ends", 4, (f"{MODULE}/audio/*.c", f"{MODULE}/image/*.c"), IMAGE,
        (f"{TESTS}/audio", f"{TESTS}/image"),
    ),
    Room(
        "npu_sim", 14, ("tools/npu_sim/*.c", "tools/npu_sim/*/*.c"), "sim-variants sim-host",
        ("host_tests/tools/npu_sim", "host_tests/tools/sim_host", EXACTNESS),
        but=("fuzz",),
    ),
    Room(
        "qemu_plugin", 6, ("tools/qemu_plugin/*.c",), "plugin firmware",
        ("host_tests/tools/qemu_plugin", "host_tests/firmware/drivers"),
    ),
    Room(
        "firmware", 4, ("firmware/*.c", "*/drivers/*.c"), "firmware",
        ("host_tests/firmware", "host_tests/*/drivers"),
    ),
    Room(
        "tools", 6, ("tools/ethosu_tools/*.py", "tools/ethosu_tools/*/*.py"), "",
        ("host_tests/tools/ethosu_tools",), "python", but=("-stubs", "/tree/"),
    ),
)  # fmt: skip


def files(tree: Path, room: Room) -> list[Path]:
    """Paths of a room's sources from the root of the tree."""
    found = {path.relative_to(tree) for pattern in room.sources for path in tree.glob(pattern)}
    return sorted(path for path in found if not any(each in str(path) for each in room.but))


def tests(tree: Path, room: Room, source: Path) -> list[str]:
    """The tests of a source: first those that contain its name, then all others of the room."""
    folders = [path for pattern in room.tests for path in sorted(tree.glob(pattern))]
    every = [
        path
        for folder in folders
        for path in (sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder])
    ]
    ordered = dict.fromkeys(path.relative_to(tree) for path in every)
    stem = source.stem.removeprefix("ethosu_")
    naming = [path for path in ordered if stem in (tree / path).read_text() or stem in path.stem]
    return [str(path) for path in dict.fromkeys([*naming, *ordered])]
