# SPDX-License-Identifier: MIT
"""Runs the commands of a page in one shell, in a folder of links to the tree.

Output outside of build/ does not end up in the tree. A board that a page starts keeps running
until the next one or the end of the page, and PORT in later commands is the board's port.
"""

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ethosu_tools.model import make_model

from host_tests.kit import found, pages
from host_tests.kit.newlib import newlib_program

ABSENT = "/dev/no-such-port"
# Messages about a missing port, probe or vendor's program match this.
MISSING = "cannot be opened|failed to access|not on PATH|is needed|is mounted|is not installed"
MISSING += "|is not a mounted disk|no device found|cannot load|command not found|has found no NPU"
# Commands for hardware only find these programs, so that none flashes a board that is plugged in.
SEEN = "bash cat cut env git grep ls make mkdir python3 rm sed sh sort tail test touch uname"
# Placeholders of the pages, which readers replace.
PLACEHOLDERS = {
    "BOARD": "NUMAKER_M55M1",
    "FILES": "build/examples/small_cnn.tflite",
    "REPOSITORY": "$ORIGIN",
}
LOG = "OSError: NPU stopped at byte 100 of the command stream: bus error (STATUS 0x2804)"

PRELUDE = r"""
set -eEuo pipefail
trap 'echo "failed: $BASH_COMMAND"' ERR
place=$PWD started= PORT=none
stop() { [ -z "$started" ] || { kill -TERM $started; wait $started || true; started=; }; }
trap 'stop 2>/dev/null || true' EXIT

# Until Ctrl-C ends it, a program goes on in the background; one that ends by itself must succeed.
until_port() {
    stop
    "$@" >port.log 2>&1 &
    started=$!
    until PORT=$(grep -om1 '/dev/pts/[0-9]*\|http://[^ ]*' port.log); do
        kill -0 $started 2>/dev/null || { cat port.log; wait $started; started=; return 0; }
        sleep 0.1
    done
    cat port.log
}
ethosu() { case $1 in qemu|web) until_port env ethosu "$@" ;; *) command ethosu "$@" ;; esac; }
.venv/bin/ethosu() { ethosu "$@"; }
qemu-system-arm() {
    case $* in *console=pty*) until_port env qemu-system-arm "$@" ;;
    *) command qemu-system-arm "$@" ;; esac
}
make() {
    if [ "$PWD" != "$place" ]; then command make "$@"
    elif [ "$1" = serve ]; then until_port env PYTHONUNBUFFERED=1 make -C "$REPO" "$@"
    else command make -C "$REPO" "$@"; fi
}
cmake() { (cd "$REPO" && command cmake "$@"); }
mpremote() {  # a prompt needs a terminal; Ctrl-] leaves it
    if [ "${*: -1}" = repl ]; then printf '\x1d' | script -qefc "mpremote $*" /dev/null
    else command mpremote "$@"; fi
}
on_board() { [ -z "$started" ] || command mpremote connect "$PORT" resume run "$1"; }
sudo() { "$@"; }
apt() { apt-get --simulate "$@" | tail -1; }  # the machine is not changed

# Runs each argument until one names, in one sentence, what is missing.
until_missing() {
    local line
    for line; do
        if (PATH=$FEW; unset -f ethosu mpremote; eval "$line") >out.log 2>err.log; then
            cat out.log
        elif [ "$(grep -c . err.log)" = 1 ] && cat out.log err.log | grep -qE "$MISSING"; then
            cat err.log; return 0
        else
            cat out.log err.log; echo "does not say in one sentence what is missing: $line"
            return 1
        fi
    done
    case $line in *--dry-run*) ;; *) echo "needs no hardware: $line"; return 1 ;; esac
}
"""


@dataclass(frozen=True)
class Ran:
    """The output of a page's commands, and whether they succeeded."""

    code: int
    log: str
    printed: dict[int, str]
    """The output by the line of the block."""


def lines(text: str) -> list[str]:
    """Return a block's lines, with continued lines joined and placeholders replaced."""
    joined = re.sub(r" *\\\n *", " ", text)
    return [replaced(line) for line in joined.splitlines() if line.strip()]


def replaced(text: str) -> str:
    """Replace the placeholders of the pages by values."""
    for word, value in PLACEHOLDERS.items():
        text = re.sub(rf"(?<![\w$./-]){re.escape(word)}(?![\w=])", value, text)
    return re.sub(r"(?<![\w$])PORT\b(?!=)", '"$PORT"', text)


def place_of(folder: Path) -> Path:
    """Fill a folder with links to the tree, and with files that pages leave to their readers."""
    for entry in pages.REPO.iterdir():
        (folder / entry.name).symlink_to(entry)
    return folder


# Files that a reader is expected to have.
READERS: dict[str, Callable[[Path], object]] = {
    "MODEL.tflite": lambda path: path.write_bytes(make_model.small_cnn()),
    "kws.tflite": lambda path: path.write_bytes(make_model.small_cnn()),
    "log.txt": lambda path: path.write_text(LOG),
    "tflm.elf": lambda path: path.symlink_to(newlib_program.build()),
    **{name: make for each in found.modules("page_rows") for name, make in each.READERS.items()},
}


def _fill(folder: Path, text: str) -> None:
    """Make the files that these commands name."""
    for name, make in READERS.items():
        if name in text:
            make(folder / name)


def _without_hardware(line: str) -> str:
    """Give a command a port that does not exist, also where it would look for one."""
    line = re.sub(r'"\$PORT"|/dev/ttyACM\d', ABSENT, line)
    # Otherwise this would write to a board's mounted disk; other ways ignore the option.
    line = re.sub(r"\bethosu flash \S+", rf"\g<0> --disk {ABSENT}", line)
    return re.sub(r"\bmpremote (?!connect)", f"mpremote connect {ABSENT} ", line)


def _parts(blocks: list[pages.Block], token: str) -> Iterator[str]:
    """Yield the lines of the shell's program."""
    for block in blocks:
        # A program in the background may have printed a part of a line.
        yield f"printf '\\n%s\\n' '{token} {block.line}'"
        if block.mark == "hardware":
            absent = map(_without_hardware, lines(block.text))
            yield f"until_missing {' '.join(map(shlex.quote, absent))}"
        elif block.language == "python" and block.kind in ("test", "nightly"):
            yield f"cat >block.py <<'{token}'\n{block.text}{token}\npython block.py"
        elif block.kind == "board":
            yield f"cat >block.py <<'{token}'\n{block.text}{token}\non_board block.py"
        elif block.kind == "FILE":
            yield f"cat >{block.mark} <<'{token}'\n{block.text}{token}"
        else:
            yield replaced(block.text)


def run(blocks: list[pages.Block], folder: Path) -> Ran:
    """Run the commands, and save the files, of one page."""
    token = f"@{os.urandom(4).hex()}@"
    program = "\n".join([PRELUDE, *_parts(blocks, token)])
    _fill(folder, program)
    few, origin = folder / "few", folder / "origin/micropython-ethosu"
    if not few.exists():
        few.mkdir()
        for name in SEEN.split():
            (few / name).symlink_to(f"/usr/bin/{name}")
        origin.parent.mkdir()
        origin.symlink_to(pages.REPO)
    programs = pages.REPO / ".venv/bin"
    unset = ("MAKE", "PYTEST", "ETHOSU")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(unset)}
    more = {
        "REPO": pages.REPO,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "FEW": f"{programs}:{few}",
        "MISSING": MISSING,
        "ORIGIN": origin,
        "PYTHONUNBUFFERED": 1,
    }
    done = subprocess.run(
        ["bash", "-c", program],
        cwd=folder,
        env=kept | {name: str(value) for name, value in more.items()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    parts = re.split(rf"^{token} (\d+)\n", done.stdout, flags=re.MULTILINE)
    printed = {int(line): text for line, text in zip(parts[1::2], parts[2::2], strict=True)}
    return Ran(done.returncode, re.sub(rf"^{token} ", "line ", done.stdout, flags=re.M), printed)


def differences(shown: pages.Block, printed: str) -> list[str]:
    """List lines of a page that the commands did not print in this order; "..." is any text."""
    missing, rest = [], _plain(printed, shown.kind)
    for line in filter(str.strip, shown.text.splitlines()):
        words = [re.escape(part) for part in re.split(r"\.\.\.", _plain(line, shown.kind).strip())]
        if found := re.search(rf"^ *{'.*'.join(words)} *$", rest, re.MULTILINE):
            rest = rest[found.end() :]
        else:
            missing.append(line)
    return missing


def _plain(text: str, kind: str) -> str:
    """Remove colours and repeated spaces; numbers that may differ become 0."""
    text = re.sub(r"\x1b\[[\d;]*m", "", text).replace("\r", "")
    if kind == "like":
        text = re.sub(r"\d[\d,.]*\d|\d", "0", text)
    return re.sub(r"[ \t]+", " ", text)
