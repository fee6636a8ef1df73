# SPDX-License-Identifier: MIT
"""Fills build/release for `make release`, which has put the wheels there: archives, their page.

Arguments: the JUnit file of the boards' tests, the folder, then NAME=FOLDER for each other archive,
and without=NAMES for what was left out. A board without a passed test is listed as not tested.
"""

import contextlib
import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import notices
import packing
import release_page
from ethosu_tools import boards
from ethosu_tools.base import paths
from ethosu_tools.boards.facts import BoardFacts
from ethosu_tools.link.flash import alif, archive
from ethosu_tools.model import make_model, romfs

SUMS = "SHA256SUMS"
TESTED = "TESTED.md"
MODEL = "small_cnn"
# Parts of test ids in host_tests/boards/test_every_board.py.
_QEMUS = ("installed", "10", "11")

_HEAD = """\
# What was tested

| board | core | NPU | proof | QEMU | tests | image, start of its SHA-256 |
| --- | --- | --- | --- | --- | --- | --- |"""
_FOOT = """
The tests are `host_tests/boards/test_every_board.py`: each board boots in QEMU, keeps files, and
computes what TFLite's reference kernels do, bit by bit. It starts as its chip, too: without the
emulator's registers, over its UART. The released `firmware.elf` is the file that these tests ran;
the `.bin` was made of it. An emulator proves nothing about clocks, pins, power and flash: see
`boards/README.md`.

| made with | version |
| --- | --- |"""
_BOOTS = """
## From the reset to the prompt

What each board writes to its UART, and a command."""


def board_files(board: BoardFacts, rom: bytes) -> dict[str, bytes]:
    """Return the files of a built board's archive: what is flashed, and where it goes."""
    elf = paths.firmware_file(board.name)
    files = {archive.ELF: elf.read_bytes(), archive.ROM: rom, **notices.for_image(board.name)}
    if board.bin:
        files[archive.BIN] = archive.joined(board, elf.with_suffix(".bin").read_bytes(), rom)
    if "alif" in board.flash:
        settings = board.flash["alif"]
        files[alif.CONFIG] = alif.table(settings, settings["device_config"]).encode()
    return archive.pack(board, files)


def demo(board: BoardFacts) -> bytes:
    """Return a ROM file system with a model for the board's NPU that tests itself, and a script."""
    with tempfile.TemporaryDirectory(prefix="ethosu-release-") as work:
        with contextlib.redirect_stdout(None):
            make_model.main([work, MODEL])
        source, compiled = Path(work, f"{MODEL}.tflite"), Path(work, "proven.tflite")
        words = "compile", source, "--board", board.name, "--selftest", "-o", compiled, "--quiet"
        command = [sys.executable, "-m", "ethosu_tools.cli", *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        script = paths.root() / "modules/ethosu/examples/selftest.py"
        files = {file.name: file.read_bytes() for file in (compiled, script)}
    return romfs.build(files)


@dataclass
class Results:
    """Results of each board's tests, boot messages and images' checksums, by "BOARD QEMU"."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    boots: dict[str, str] = field(default_factory=dict)
    images: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    properties: dict[str, str] = field(default_factory=dict)


def _properties(of: ElementTree.Element) -> dict[str, str]:
    return {each.get("name", ""): each.get("value", "") for each in of.findall("properties/*")}


def results(junit: Path, names: Sequence[str]) -> Results:
    """Read the tests' file."""
    totals = Results()
    suite = ElementTree.parse(junit).getroot()
    for case in suite.iter("testcase"):
        words = re.split(r"[\[\]]", case.get("name", "") + "[]")[1]
        board = max((name for name in names if name in words), key=len, default=None)
        qemu = next((qemu for qemu in _QEMUS if qemu in words.split("-")), None)
        if board and qemu:
            kind = next((child.tag for child in case if child.tag != "properties"), "passed")
            totals.counts[f"{board} {qemu}"][kind] += 1
            found = _properties(case)
            if "transcript" in found:
                totals.boots[f"{board} {qemu}"] = found["transcript"]
            if "image" in found:
                totals.images[f"{board} {qemu}"].add(found["image"])
    for part in suite.iter("testsuite"):
        totals.properties |= _properties(part)
    return totals


def boot(name: str, totals: Results) -> list[str]:
    """Return a board's output from reset to prompt, for each QEMU if it differs."""
    outputs: dict[str, list[str]] = {}
    for qemu in _QEMUS:
        if text := totals.boots.get(f"{name} {qemu}"):
            outputs.setdefault(text.strip(), []).append(totals.properties.get(f"qemu {qemu}", qemu))
    return [
        f"\n{name} on {' and '.join(qemus)}:\n\n{textwrap.indent(text, '    ')}"
        for text, qemus in outputs.items()
    ]


def report(names: Sequence[str], totals: Results, tools: Mapping[str, str]) -> str:
    """Make the page that lists what each image was tested with."""
    lines = [_HEAD]
    for name in names:
        facts = boards.load(name)
        for qemu in _QEMUS:
            tests = _counted(totals.counts.get(f"{name} {qemu}", Counter()))
            lines.append(
                f"| {name} | {facts.core} | {facts.npus[0]} | {facts.proof} "
                f"| {totals.properties.get(f'qemu {qemu}', qemu)} | {tests} "
                f"| {', '.join(each[:12] for each in sorted(totals.images[f'{name} {qemu}']))} |"
            )
    lines.append(_FOOT)
    lines += [f"| {name} | {value} |" for name, value in tools.items()]
    lines.append(_BOOTS)
    lines += [text for name in names for text in boot(name, totals)]
    return "\n".join(lines) + "\n"


def tests_of(name: str, totals: Results) -> str:
    """Count a board's tests on all QEMUs."""
    return _counted(sum((totals.counts[f"{name} {qemu}"] for qemu in _QEMUS), Counter()))


def _counted(count: Counter[str]) -> str:
    return ", ".join(f"{count[kind]} {kind}" for kind in sorted(count)) or "not tested"


def others(names: Sequence[str], totals: Results) -> list[str]:
    """List tests of another image than the released one."""
    return [
        f"{name} on QEMU {qemu} ({image[:12]} instead of {released[:12]})"
        for name in names
        for released in [_sha256(paths.firmware(name))]
        for qemu in _QEMUS
        for image in sorted(totals.images[f"{name} {qemu}"] - {released})
    ]


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _first_line(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip() or "unknown"


def _tools() -> dict[str, str]:
    source = "git", "-C", str(paths.root()), "describe", "--always", "--dirty"
    pinned = (paths.root() / "firmware/micropython.toml").read_text()
    return {
        "source": _first_line(*source),
        "MicroPython": re.search(r'^default = "(.*)"', pinned, re.M)[1],  # type: ignore[index]
        "compiler": _first_line("arm-none-eabi-gcc", "--version"),
        "Vela": version("ethos-u-vela"),
        "LiteRT, the reference": version("ai-edge-litert"),
        "Python": platform.python_version(),
    }


def main(junit: Path, target: Path, parts: Mapping[str, Path], left_out: Sequence[str] = ()) -> str:
    """Fill the folder, which already contains the wheels; returns an error message, or ""."""
    release, names = version("ethosu-tools"), boards.names()
    missing = [name for name in names if not paths.firmware_file(name).is_file()]
    if missing:
        return f"images are missing: {', '.join(missing)}; run: make board-images"
    totals = results(junit, names)
    if wrong := others(names, totals):
        return f"another image was tested than is to be released: {'; '.join(wrong)}"
    licence = {"LICENSE": (paths.root() / "LICENSE").read_bytes()}
    for name in names:
        board = boards.load(name)
        files = board_files(board, demo(board))
        howto = release_page.howto(board, release_page.file_name(release, name)).encode()
        packing.write(
            target / release_page.file_name(release, name), files | licence | {"README.md": howto}
        )
    for part, folder in parts.items():
        packing.write(
            target / release_page.file_name(release, part), packing.folder(folder) | licence
        )
    shutil.copyfile(paths.root() / "tools/setup/Containerfile", target / "Containerfile")
    (target / TESTED).write_text(report(names, totals, _tools()))
    sums = {file.name: _sha256(file) for file in sorted(target.iterdir())}
    changes = (paths.root() / "CHANGELOG.md").read_text()
    tests = {name: tests_of(name, totals) for name in names}
    page = release_page.page(release, changes, tests, sums, left_out)
    (target / release_page.NAME).write_text(page)
    sums[release_page.NAME] = _sha256(target / release_page.NAME)
    (target / SUMS).write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)))
    for path in sorted(target.iterdir()):
        print(f"{path.name:<60}{path.stat().st_size:>12,} bytes")
    return ""


if __name__ == "__main__":
    given = dict(word.split("=", 1) for word in sys.argv[3:])
    left = given.pop("without", "").split()
    made = {name: Path(folder) for name, folder in given.items()}
    try:
        sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), made, left) or 0)
    except (notices.NoticeError, release_page.UnknownFileError) as error:
        sys.exit(str(error))
