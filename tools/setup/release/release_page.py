# SPDX-License-Identifier: MIT
"""The page of a release, RELEASE.md: each file, its command, its checksum, what was tested."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import changelog
from ethosu_tools import boards
from ethosu_tools.base.ui import Ui
from ethosu_tools.boards.facts import BoardFacts
from ethosu_tools.link.flash import WAYS, Request, archive

NAME = "RELEASE.md"
# What the archives that are no board's are, and how each is used.
PARTS = {
    "c": "the module's C sources: driver and runtime for CMake (`add_subdirectory(runtime)`), the "
    "driver as Zephyr's module (`-DZEPHYR_EXTRA_MODULES=driver`), all as MicroPython's user module",
    "docs": "the book: open `index.html`; from a server, such as `python3 -m http.server`, it also "
    "has search and programs that run",
    "native": "the module as `.mpy` for other firmware on a Cortex-M55, with MicroPython 1.25 to "
    "1.29: unpack it, `mpremote mip install package.json`; its README says how to go on",
    "web": "the web page, static files: `python3 -m http.server --directory FOLDER`",
}
OTHERS = {
    "x86_64.whl": 'the tools for Linux on PCs: `pip install "FILE[oracle]"`',
    "aarch64.whl": "the same for Linux on Arm",
    "any.whl": "the tools for macOS (Arm) and Windows, without QEMU: "
    '`pip install "FILE[wasm,oracle]"`',
    "Containerfile": "the tools with QEMU: `docker build -t ethosu -f Containerfile .`",
    "TESTED.md": "what each image was tested with",
}
_TITLE = """\
# micropython-ethosu {release}

**Nothing here has run on silicon yet.** Each board's image was tested in QEMU:
see [TESTED.md](TESTED.md).

`sha256sum -c SHA256SUMS` checks the files.
"""
_HEAD = """\
## Boards

`ethosu` is in the wheel. PORT is the board's serial port, such as `/dev/ttyACM0` or `COM3`, and
FOLDER the one of the vendor's tools; without these, the command says what it needs and where to
get it. The archive has a page with the commands of the vendor's tool alone. After flashing, `/rom`
has a model that tests itself: `mpremote connect PORT exec "import selftest"` prints
`self-test passed: True`. (`ethosu qemu` prints its PORT; give the command in another terminal.)

| board | file | command | tests in QEMU | SHA-256 |
| --- | --- | --- | --- | --- |"""


# From nothing to an inference; a test runs it.
START = f"""\
python -m ethosu_tools.model.make_model models small_cnn
ethosu compile models/small_cnn.tflite --board {boards.DEFAULT} -o models/small_cnn_vela.tflite
ethosu run models/small_cnn_vela.tflite --on qemu --reference models/small_cnn.tflite"""
# Ways to start, each for a file that the release may have.
_LINUX = """\
## Start without a board

On Debian 12 or 13, or Ubuntu 24.04, in the folder of these files:

```sh
sudo apt-get install python3-venv qemu-system-arm
python3 -m venv npu && . npu/bin/activate
pip install "{file}[oracle]"
{start}
```

The model was compiled for the NPU of an emulated board and ran there, and its output is that of
TFLite's reference kernels, bit by bit."""
_STARTS = {
    "any.whl": "On Windows and macOS (Arm), with Python 3.11 to 3.13: "
    '`pip install "{file}[wasm,oracle]"`, and `--on sim` instead of `--on qemu`.',
    "web.zip": "In a browser: unpack `{file}`, and serve its folder by "
    "`python3 -m http.server --directory FOLDER`. The page has the board and the compiler.",
    "docs.zip": "The book goes on from here: unpack `{file}`. Where it says `make`, or "
    "`.venv/bin/ethosu`, take the files and the `ethosu` of this release.",
}


class UnknownFileError(Exception):
    """The release has a file that its page would not name."""


def file_name(release: str, what: str) -> str:
    """Return the name of an archive of a release."""
    return f"micropython-ethosu-{release}-{what}{archive.SUFFIX}"


def command(board: BoardFacts, file: str) -> str:
    """Return the command that flashes an archive, or runs the board."""
    if not board.flash:
        folder = board.name.lower()
        run = f"ethosu qemu --board {board.name} --romfs {folder}/{archive.ROM}"
        return f"unzip -d {folder} {file}; {run}"
    options = WAYS[next(iter(board.flash))].options
    return f"ethosu flash {board.name} --firmware {file} {options}".rstrip()


# What the commands leave to the reader.
_PLACES = {
    "PORT": "the board's serial port, such as `/dev/ttyACM0` or `COM3`",
    "FOLDER": "the folder of the vendor's tools",
    "TOOLKIT": "the folder `toolkit/` of Alif's security toolkit, MicroPython's edition, 1.110 or "
    "later; it has the device's configuration. `ethosu doctor --install alif` makes its Python",
    "TOOL": "the folder of Himax's image tool. Only `ethosu flash` makes the check and the block",
}


def howto(board: BoardFacts, file: str) -> str:
    """Make the page of a board's archive."""
    lines = [f"# {board.title}: {board.name}", ""]
    if board.needs:
        lines += [f"**Also needed**: {board.needs}.", ""]
    lines += ["With the tools of this release:", "", f"    {command(board, file)}", ""]
    for way in list(board.flash)[:1]:
        asked = Request(board, Path(archive.ELF), Path(), Ui(), rom=b"", python="python3")
        # The vendor's tools of this machine are not the reader's.
        with mock.patch.dict(os.environ, {"PATH": ""}, clear=True):
            texts = [step.text for step in WAYS[way].steps(asked, board.flash[way])]
        # The archive has what this step makes.
        texts = [text for text in texts if f"copy {archive.BIN} to {archive.BIN}" not in text]
        lines += [f"With the vendor's tool alone ({way}), in this folder:", ""]
        lines += [f"{at}. {text.removeprefix('cd .; ')}" for at, text in enumerate(texts, 1)] + [""]
    if board.qemu and board.qemu.machine != "none":
        lines += [
            "With QEMU alone, without the NPU:",
            "",
            f"    qemu-system-arm -M {board.qemu.machine} -nographic -kernel {archive.ELF} "
            f"-device loader,file={archive.ROM},addr={board.romfs.start:#x},force-raw=on",
            "",
        ]
    lines += [
        f"`{archive.CONTENTS}` has address and checksum of each file. `{archive.ELF}` is the "
        f"firmware, `{archive.ROM}` the ROM file system with a model for {board.npus[0]}"
        + (f", `{archive.BIN}` both, from the start of the flash." if board.bin else "."),
    ]
    text = "\n".join(lines) + "\n"
    left = [(word, said) for word, said in _PLACES.items() if re.search(rf"\b{word}\b", text)]
    return text + "".join(f"\n{word} is {said}.\n" for word, said in left)


def page(
    release: str,
    changes: str,
    tests: Mapping[str, str],
    sums: Mapping[str, str],
    left_out: Sequence[str],
) -> str:
    """Make RELEASE.md of the tests' results and the checksums of all files."""
    lines = [_TITLE.format(release=release), *_starts(sums), "", _HEAD]
    for name, count in tests.items():
        board, file = boards.load(name), file_name(release, name)
        lines.append(
            f"| {board.title}: {name} | [{file}]({file}) | `{command(board, file)}` | {count} "
            f"| `{sums[file]}` |"
        )
    needs = [(name, boards.load(name).needs) for name in tests if boards.load(name).needs]
    if needs:
        lines += ["", "## What a board needs besides", ""]
        lines += [f"- {name}: {need}." for name, need in needs]
    lines += ["", "## Other files", "", "| file | what, and how to use it | SHA-256 |"]
    boards_ = {file_name(release, name) for name in tests}
    others = {file: digest for file, digest in sums.items() if file not in boards_}
    lines += ["| --- | --- | --- |", *_others(release, others)]
    if left_out:
        lines += ["", f"Left out: {', '.join(left_out)}."]
    _, newest = changelog.entry(changes, release)
    newest = re.sub(r"\[([^\]]*)\]\((?!http)[^)]*\)", r"\1", newest)  # links into the tree
    return "\n".join([*lines, "", "## What is new", "", newest])


def _starts(files: Iterable[str]) -> Iterator[str]:
    """Say how to start, with the files that are there."""
    linux = [file for file in files if re.search(r"linux.*\.whl$", file)]
    if linux:  # that for PCs, if there is one
        file = next((file for file in linux if file.endswith("x86_64.whl")), linux[0])
        yield _LINUX.format(file=file, start=START)
    for end, text in _STARTS.items():
        yield from (f"\n{text.format(file=file)}" for file in files if file.endswith(end))


def _others(release: str, sums: Mapping[str, str]) -> Iterator[str]:
    texts = {file_name(release, part): text for part, text in PARTS.items()} | OTHERS
    left = dict(sums)
    for end, text in texts.items():
        for file in [file for file in left if file.endswith(end)]:
            yield f"| [{file}]({file}) | {text} | `{left.pop(file)}` |"
    for file in left:
        raise UnknownFileError(f"{file}: release_page.py does not say what it is")
