# SPDX-License-Identifier: MIT
"""The command line of an FVP."""

import argparse
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from ...base.errors import UsageError
from ...base.ui import positive_number

# The release of Arm's Fast Models whose command line this is; scripts compare the number.
RELEASE = "11.31.28"
# The FVP's options for speed, debuggers and traces, which change no result: names, and whether a
# value follows.
_NEEDLESS: tuple[tuple[tuple[str, ...], bool], ...] = (
    (("-Q", "--quantum"), True),
    (("-M", "--min-sync-latency"), True),
    (("-b", "--break"), True),
    (("-I", "--iris-server"), False),
    (("-A", "--iris-allow-remote"), False),
    (("-S", "--cadi-server"), False),
    (("-R", "--run"), False),
    (("-p", "--print-port-number"), False),
    (("-L", "--cadi-log"), False),
    (("-D", "--allow-debug-plugin"), False),
    (("-K", "--keep-console"), False),
)
# Options whose missing effect a user would notice.
_LACKING: tuple[tuple[tuple[str, ...], str], ...] = (
    (("--plugin",), "there are no plug-ins"),
    (("--trace-plugin",), "there are no plug-ins"),
)
_IMAGE = re.compile(r"^[\w.\[\]]+\*?=(?P<file>.+)$")
_NUMBER = r"0[xX][\da-fA-F]+|\d+"
_PLACE = rf"^(?:[\w.\[\]]+\*?=)?(?P<file>.+)@(?:\w+:)?(?P<address>{_NUMBER})"
_DATA = re.compile(_PLACE + "$")
_DUMP = re.compile(_PLACE + rf",(?P<size>{_NUMBER})$")


@dataclass(frozen=True)
class Data:
    """A file whose bytes are in memory at the start."""

    file: Path
    address: int


@dataclass(frozen=True)
class Dump:
    """A file that gets bytes of memory at the end."""

    file: Path
    address: int
    size: int


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def parser(name: str) -> argparse.ArgumentParser:
    """Build the parser of a program."""
    parser = _Parser(
        prog=name,
        allow_abbrev=False,
        description="Runs firmware for this platform in QEMU with an NPU simulator. The command "
        f"line is that of Arm's Fast Models {RELEASE}; its page describes the differences.",
    )
    add = parser.add_argument
    add("image", nargs="*", help="firmware image, as with -a")
    add("-a", "--application", action="append", default=[], metavar="[INSTANCE=]FILE",
        help="firmware image (ELF or Intel hex); may be repeated")  # fmt: skip
    add("-d", "--data", action="append", default=[], type=_data, metavar="[INSTANCE=]FILE@ADDRESS",
        help="file whose bytes are in memory at the start; may be repeated")  # fmt: skip
    add("--dump", action="append", default=[], type=_dump, metavar="[INSTANCE=]FILE@ADDRESS,SIZE",
        help="file that gets bytes of memory at the end; may be repeated")  # fmt: skip
    add("-C", "--parameter", action="append", default=[], metavar="NAME=VALUE", help="parameter")
    add("-f", "--config-file", action="append", default=[], type=Path, metavar="FILE",
        help="file with a parameter in each line")  # fmt: skip
    add("-l", "--list-params", action="store_true", help="print all parameters and what they do")
    add(
        "-T", "--timelimit", type=positive_number, metavar="SECONDS", help="limit of processor time"
    )
    add("--simlimit", type=positive_number, metavar="SECONDS", help="limit of the firmware's time")
    add(
        "--cyclelimit",
        type=positive_number,
        metavar="N",
        help="limit of the firmware's time in cycles",
    )
    add("--stat", action="store_true", help="print times at the end")
    add("-q", "--quiet", action="store_true", help="print only what the firmware prints")
    add("-V", "--verbose", action="store_true", help="print the emulator's messages on stderr")
    add("-o", "--output", type=Path, metavar="FILE", help="file for --list-params")
    add("--strict", action="store_true",
        help="whatever would be ignored is an error (not an option of Arm's)")  # fmt: skip
    add("--version", action="store_true", help="print the release of this program")
    for names, has_value in _NEEDLESS:
        takes: dict[str, Any] = {} if has_value else {"action": "store_true"}
        add(*names, **takes, help="changes nothing")
    for names, why in _LACKING:
        add(*names, action="append", metavar="FILE", help=f"has no effect: {why}")
    return parser


def release(name: str) -> str:
    """Return the version of a program; scripts compare the first number with three parts."""
    from importlib.metadata import version  # slow to load

    own = version("ethosu-tools")
    return f"{name}: as Fast Models {RELEASE}, run by ethosu-tools {own} in QEMU"


def lacking(args: argparse.Namespace) -> list[str]:
    """Yield a sentence about each option that has no effect."""
    return [
        f"{names[0]} has no effect: {why}"
        for names, why in _LACKING
        if getattr(args, names[0].strip("-").replace("-", "_"))
    ]


def images(args: argparse.Namespace) -> list[Path]:
    """Return the firmware images; UsageError if there are none."""
    given = [*args.application, *args.image]
    if not given and not args.data:
        raise UsageError("no firmware image: expected -a FILE")
    return [_image(text) for text in given]


def _image(text: str) -> Path:
    match = None if Path(text).exists() else _IMAGE.match(text)
    return Path(_unquoted(match["file"]) if match else text)


def _data(text: str) -> Data:
    match = _DATA.match(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected [INSTANCE=]FILE@ADDRESS, found {text!r}")
    address = _number(match["address"])
    if address >= 1 << 32:
        raise argparse.ArgumentTypeError(f"expected an address of 32 bits, found {text!r}")
    return Data(Path(_unquoted(match["file"])), address)


def _dump(text: str) -> Dump:
    match = _DUMP.match(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected [INSTANCE=]FILE@ADDRESS,SIZE, found {text!r}")
    address, size = _number(match["address"]), _number(match["size"])
    if not 0 < size <= (1 << 32) - address:
        raise argparse.ArgumentTypeError(
            f"expected at least one byte, and addresses of 32 bits, found {text!r}"
        )
    return Dump(Path(_unquoted(match["file"])), address, size)


def _number(text: str) -> int:
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def read_text(path: Path) -> str:
    """Read a configuration file."""
    try:
        return path.read_text()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text file: {error.reason} at byte {error.start}") from None


def complain(name: str, text: str) -> None:
    """Print a sentence on stderr."""
    print(f"{name}: {text}", file=sys.stderr, flush=True)
