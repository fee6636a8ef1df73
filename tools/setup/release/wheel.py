# SPDX-License-Identifier: MIT
"""Makes the wheel of the tools, with all files built for them: `make wheel`.

The wheel holds the package, in it a small tree of the layout that `ethosu_tools/base/paths.py`
expects, and next to it the stubs of the firmware's modules (PEP 561). The wheel's tag names the
oldest glibc that its libraries require. Builds are reproducible.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path

import notices
import packing
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from ethosu_tools import boards
from ethosu_tools.base import addons, paths

LIBRARIES = (
    "sim_host/libethosu_sim.so",
    "qemu_plugin/libethosu_qemu.so",
    *addons.texts("wheel library").values(),
)
SOURCES = (
    "boards/*/board.toml",
    "boards/*/machine.toml",
    "boards/*/points.csv",
    "firmware/chips/*/chip.toml",
    "build/examples/*",
    "build/library/*.py",
    *addons.texts("wheel files").values(),
)
# Stubs of the firmware's C modules, and its Python modules, which need no stubs.
STUBS = (
    "modules/ethosu/*.pyi",
    "modules/ethosu/binding/python/[!_]*.py",
    "firmware/emulator/*.pyi",
)
# The checker reads Vela's sources, since its package has the same name as the module.
PARTIAL = "partial\n"
# The machine whose wheel has no library for one: an add-on of the wheel runs the simulator.
ANY = "any"
SBOMS = "sboms"
# setuptools knows nothing of SBOMs, but takes metadata to which they were added.
BUILD = f"""\
import shutil
from setuptools import build_meta
named = build_meta.prepare_metadata_for_build_wheel(".")
shutil.copytree({SBOMS!r}, named + {f"/{SBOMS}"!r})
build_meta.build_wheel({{target!r}}, None, named)
"""
MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}


def copy(file: Path, target: Path) -> None:
    """Copy a file, creating its folders."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, target)


def copy_built(file: Path, target: Path, *strip: str) -> bool:
    """Copy a file without debug information; False if it was not built."""
    if not file.is_file():
        return False
    copy(file, target)
    if strip:
        subprocess.run([*strip, str(target)], check=True)
    return True


def fill(tree: Path, root: Path, machine: str | None = None) -> list[str]:
    """Copy the tools' files into `tree`; return those that were not built.

    `machine` selects libraries from build/MACHINE; None selects this machine's, from build/. ANY
    has the files of `addons.offers("simulator")` instead.
    """
    absent = []
    folder = root / "build" / (machine or "")
    strip = f"{machine}-linux-gnu-strip" if machine else "strip"
    for name in () if machine == ANY else LIBRARIES:
        if not copy_built(folder / name, tree / "build" / name, strip, "--strip-unneeded"):
            absent.append(str((folder / name).relative_to(root)))
    if machine == ANY:
        runs = addons.offers("simulator")
        absent += [f"build/{name}" for name in runs if not (root / "build" / name).is_file()]
    for board in boards.every():
        elf = paths.firmware_file(board.name).relative_to(paths.root())
        if not copy_built(root / elf, tree / elf, "arm-none-eabi-strip", "--strip-debug"):
            absent.append(str(elf))
        copy_built(root / elf.with_suffix(".bin"), tree / elf.with_suffix(".bin"))
    more = addons.texts("files of the wheel for any system").values() if machine == ANY else ()
    absent += [pattern for pattern in more if not any(root.glob(pattern))]
    for pattern in (*SOURCES, *more):
        for file in sorted(root.glob(pattern)):
            copy(file, tree / file.relative_to(root))
    return absent


def notices_of(tree: Path, root: Path, machine: str | None = None) -> dict[str, bytes]:
    """Return licence texts and the list of what others wrote in the libraries and images."""
    made = []
    for file in sorted((tree / "build").rglob("*.*")):
        if file.suffix in (".so", ".elf", ".bin", ".wasm"):
            name = file.relative_to(tree / "build").with_suffix(".map")
            folder = root / "build" / (machine or "" if file.suffix == ".so" else "")
            within = notices.inputs(folder / name)
            inside = str(file.relative_to(tree.parents[1]))
            made.append(notices.Binary(inside, file.read_bytes(), within))
    return notices.of("ethosu-tools", made)


def add_notices(stage: Path, root: Path, made: Mapping[str, bytes]) -> None:
    """Add what goes to .dist-info/licenses, with its names (PEP 639), and to sboms (PEP 770)."""
    shutil.copyfile(root / "LICENSE", stage / "LICENSE")
    (stage / notices.TEXTS).write_bytes(made[notices.TEXTS])
    (stage / SBOMS).mkdir()
    (stage / SBOMS / notices.SBOM).write_bytes(made[notices.SBOM])
    licence = json.loads(made[notices.SBOM])["packages"][0]["licenseConcluded"]
    own, files = 'license = "MIT"\n', f'license-files = ["LICENSE", "{notices.TEXTS}"]\n'
    text = (root / "pyproject.toml").read_text()
    assert text.count(own) == 1
    named = text.replace(own, f'license = "{licence}"\n{files}')
    (stage / "pyproject.toml").write_text(named)


def add_stubs(tools: Path, root: Path) -> None:
    """Place the stubs where type checkers and editors look for them."""
    for stub in (file for pattern in STUBS for file in sorted(root.glob(pattern))):
        folder = tools / f"{stub.stem}-stubs"
        folder.mkdir()
        shutil.copyfile(stub, folder / "__init__.pyi")
        (folder / "py.typed").write_text(PARTIAL)
    for name, folder in addons.texts("board package").items():
        package, stubs = root / folder, tools / f"{name}-stubs"
        for module in sorted(package.rglob("*.py")):
            copy(module, stubs / module.relative_to(package).with_suffix(".pyi"))
        (stubs / "py.typed").write_text("")


def platform_tag(libraries: Iterable[Path]) -> str:
    """Return the oldest PEP 600 platform with every glibc symbol that the libraries require."""
    needed, machines = (2, 17), set()
    for library in libraries:
        with library.open("rb") as file:
            elf = ELFFile(file)
            machines.add(MACHINES[elf.header["e_machine"]])
            for section in elf.iter_sections():
                if isinstance(section, GNUVerNeedSection):
                    needed = max([needed, *_glibc(section)])
    (machine,) = machines
    return f"manylinux_{needed[0]}_{needed[1]}_{machine}"


def _glibc(section: GNUVerNeedSection) -> Iterator[tuple[int, int]]:
    for _, names in section.iter_versions():
        for symbol in names:
            version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", symbol.name)
            if version:
                yield int(version[1]), int(version[2])


def make(target: Path, root: Path, machine: str | None = None) -> tuple[Path, list[str]]:
    """Make the wheel of a machine (None: this one) in `target`; return it and what it lacks."""
    with tempfile.TemporaryDirectory(prefix="ethosu-wheel-") as work:
        stage = Path(work)
        tools = stage / "tools"
        ignored = shutil.ignore_patterns("__pycache__", "tree")
        shutil.copytree(root / "tools/ethosu_tools", tools / "ethosu_tools", ignore=ignored)
        absent = fill(tools / "ethosu_tools/tree", root, machine)
        add_notices(stage, root, notices_of(tools / "ethosu_tools/tree", root, machine))
        add_stubs(tools, root)
        libraries = (tools / "ethosu_tools/tree").rglob("*.so")
        tag = ANY if machine == ANY else platform_tag(libraries)
        (stage / "setup.cfg").write_text(f"[bdist_wheel]\nplat_name = {tag}\n")
        for file in (stage, *stage.rglob("*")):  # a wheel preserves the modes
            file.chmod(0o755 if file.is_dir() else 0o644)
        target.mkdir(parents=True, exist_ok=True)
        for old in target.glob(f"*{tag.split('_', 3)[-1]}.whl"):  # wheels of other releases
            old.unlink()
        # pip is avoided because it would start Python four times.
        build = BUILD.format(target=str(target.absolute()))
        dated = os.environ | {"SOURCE_DATE_EPOCH": packing.epoch()}
        command = [sys.executable, "-P", "-c", build]
        done = subprocess.run(command, cwd=stage, env=dated, capture_output=True, text=True)
        if done.returncode != 0:  # else stdout lists files and folders
            raise RuntimeError(done.stderr)
    return target / f"ethosu_tools-{version('ethosu-tools')}-py3-none-{tag}.whl", absent


def main(target: Path, machine: str | None = None) -> str:
    """Make the wheel; returns an error message, or ""."""
    try:
        wheel, absent = make(target, paths.root(), machine)
    except notices.NoticeError as error:
        return str(error)
    if absent:
        return f"not built: {', '.join(absent)}; run: make wheel"
    print(f"{wheel}  {wheel.stat().st_size:,} bytes")
    return ""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), *sys.argv[2:]) or 0)
