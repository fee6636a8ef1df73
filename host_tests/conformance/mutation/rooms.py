# SPDX-License-Identifier: MIT
"""The rooms in which mutants are seeded, with what make builds, and the tests."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Room:
    """A part of the product with the tests that have to find its faults."""

    name: str
    share: int
    """Of 100 mutants, this many are seeded here."""
    sources: tuple[str, ...]
    """Patterns of the files, from the root of the tree."""
    targets: str
    """Goals that make builds before the tests."""
    tests: tuple[str, ...]
    """Folders and files, the likeliest first; those that a tree lacks are left out."""
    first: tuple[str, ...] = ()
    """Quick tests that find many mutants of the matching files."""
    rules: str = "c"
    but: tuple[str, ...] = ()
    """Matching files that are not mutated."""


MODULE = "modules/ethosu"
TESTS = "host_tests/modules/ethosu"
EXACTNESS = "host_tests/exactness"
IMAGE = "sim-host firmware"

ROOMS = (
    Room(
        "driver", 20, (f"{MODULE}/driver/*/*.c",), "sim-host-variants", (f"{TESTS}/driver",),
        but=("ethosu_log.c",),
        first=("driver/test_c.py", "test_verify.py", "test_faults.py"),
    ),
    Room(
        "runtime", 12, (f"{MODULE}/runtime/*/*.c",), "sim-host-variants firmware",
        (
            f"{TESTS}/runtime/test_*.py", f"{TESTS}/runtime", f"{TESTS}/executorch", EXACTNESS,
            "host_tests/tools/ethosu_tools/model",
        ),
        first=(
            "test_bad_files.py", "executorch/test_moves.py",
            "test_scales.py", "executorch/test_programs.py",
        ),
    ),
    Room(
        "kernels", 14, (f"{MODULE}/runtime/kernels/*/*.c",), IMAGE,
        (f"{TESTS}/runtime/kernels", EXACTNESS),
        # This is compiled only with a tree of CMSIS-NN.
        but=("cmsis_nn.c",),
        first=("kernels/test_exact.py",),
    ),
    Room(
        "executorch", 8, (f"{MODULE}/executorch/*.c", f"{MODULE}/executorch/*/*.c"),
        "sim-host-variants firmware",
        (f"{TESTS}/executorch", EXACTNESS),
        first=("test_moves.py", "test_programs.py", "test_refusals.py"),
    ),
    Room(
        "binding", 12, (f"{MODULE}/binding/*.c", f"{MODULE}/binding/*/*.c"), f"{IMAGE} plugin",
        (
            *(f"{TESTS}/binding", "host_tests/boards/MPS3_AN547"),
            "host_tests/conformance/campaigns/board",
        ),
        first=(
            "binding/npu/test_npu.py", "binding/test_arguments.py", "tensor/test_values.py",
        ),
    ),
    Room(
        "front ends", 4, (f"{MODULE}/audio/*.c", f"{MODULE}/image/*.c"), IMAGE,
        (f"{TESTS}/audio", f"{TESTS}/image"),
    ),
    Room(
        "npu_sim", 14, ("tools/npu_sim/*/*.c",), "sim-variants sim-host",
        ("host_tests/tools/npu_sim", "host_tests/tools/sim_host", EXACTNESS),
        but=("fuzz",),
        first=(
            "test_streams.py", "test_rounding.py", "test_malformed.py",
            "test_u85_operators.py", "test_coherence.py",
        ),
    ),
    Room(
        "qemu_plugin", 6, ("tools/qemu_plugin/*/*.c",), "plugin firmware",
        ("host_tests/tools/qemu_plugin", "host_tests/firmware/drivers"),
        first=("npu/test_npu.py", "test_dma.py", "test_console.py"),
    ),
    Room(
        "firmware", 4, ("firmware/*/*.c",), "firmware",
        ("host_tests/firmware", "host_tests/*/drivers"), but=("/emulator/", "/template/"),
        first=("drivers/test_dma.py", "storage/test_files.py", "test_python.py"),
    ),
    Room(
        "tools", 6, tuple(f"tools/ethosu_tools/{depth}*.py" for depth in ("", "*/", "*/*/")), "",
        ("host_tests/tools/ethosu_tools",), rules="python", but=("-stubs", "/tree/"),
    ),
)  # fmt: skip


def files(tree: Path, room: Room) -> list[Path]:
    """List the sources of a room, from the root of the tree."""
    found = {path.relative_to(tree) for pattern in room.sources for path in tree.glob(pattern)}
    return sorted(path for path in found if not any(each in str(path) for each in room.but))


# Hosts of the matrix for which no room builds anything.
HOSTS = "not (exactness and not sim and not sanitized)"
NEAREST = 3
# Folders whose tests take long to build or run.
NOT_NEAR = ("fuzz", "sanitized", "campaigns", "test_library", "test_archive", "test_builds")


def tests(tree: Path, room: Room) -> list[Path]:
    """List the tests of a room, from the root of the tree."""
    folders = [path for pattern in room.tests for path in sorted(tree.glob(pattern))]
    every = [
        path
        for folder in folders
        for path in (sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder])
    ]
    return list(dict.fromkeys(path.relative_to(tree) for path in every))


def near(tree: Path, room: Room, source: Path) -> list[Path]:
    """List the tests that find most faults of a source: those of its name, and the first ones."""
    stem = source.stem.removeprefix("ethosu_")
    every = tests(tree, room)
    ordered = [path for path in every if not any(word in str(path) for word in NOT_NEAR)]
    named = [path for path in ordered if stem in path.stem]
    first = [path for name in room.first for path in ordered if str(path).endswith(name)]
    if missing := [name for name in room.first if not any(str(p).endswith(name) for p in first)]:
        raise LookupError(f"room {room.name}: no test's path ends with {', '.join(missing)}")
    others = first or [path for path in ordered if stem in (tree / path).read_text()][:NEAREST]
    return list(dict.fromkeys([*named[:NEAREST], *others]))
