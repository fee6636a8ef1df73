# SPDX-License-Identifier: MIT
"""The `ethosu` command: finds the subcommands, runs one and prints what it returns."""

import argparse
import contextlib
import importlib
import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from .base import addons, errors, files, verification
from .base.ui import Ui, guess, sentence, visible

_LONGEST_ERROR = 4000
# Commands of earlier versions, and their replacements.
MOVED = {
    "bench": "profile MODEL --on qemu",
    "bringup": "doctor PORT",
    "build": "doctor (firmware is built by: make firmware BOARD=NAME)",
    "compare": "profile MODEL OTHER",
    "estimate": "check MODEL, or for the time of each layer: ethosu profile MODEL",
    "plan": "inspect MODEL --memory, or to store the plan: ethosu compile MODEL -o FILE",
    "report": "check MODEL --html FILE",
    "setup": "doctor --install KIT",
    "strip": "compile PROGRAM --strip -o FILE",
    "trace": "profile MODEL --operations",
}
_TITLE = re.compile(r'^"""`ethosu ([\w-]+)`: (.*)\.(?:""")?$', re.MULTILINE)


def discover() -> dict[str, str]:
    """List names and summaries of the commands, with those of add-ons.

    A module is a command if its docstring starts with "`ethosu NAME`: summary." Nothing is
    imported or parsed, because most of the modules are slow to load.
    """
    here = Path(__file__).parent
    files = {path.stem: path for path in (here / "commands").glob("*.py")}
    for name, at in addons.offers("command").items():
        files[name] = here.joinpath("addons", *at.split(".")).with_suffix(".py")
    summaries = {}
    for stem, path in sorted(files.items()):
        title = _TITLE.search(path.read_text())
        if title and title[1] == stem.replace("_", "-"):
            summaries[title[1]] = title[2]
    return summaries


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise errors.UsageError(f"{message}; `{self.prog} --help` lists the options")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib.metadata import version  # slow to load

        print(parser.prog, version("ethosu-tools"))
        parser.exit()


def make_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the chosen command's module is imported."""
    parser = _Parser(
        prog="ethosu",
        description="Compile, run and test models for Arm Ethos-U NPUs under MicroPython.",
        epilog="`ethosu COMMAND --help` explains a command. " + exit_codes(),
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in discover().items():
        command = commands.add_parser(name, help=summary, description=sentence(summary))
        command.add_argument("--json", action="store_true", help="print the result as JSON")
        command.add_argument("--quiet", action="store_true", help="print warnings and errors only")
        if name == chosen:
            declare(command, command_module(name))
    return parser


def declare(parser: argparse.ArgumentParser, module: Any) -> None:
    """Declare the options of a command, and its EPILOG, which is shown as it is."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = getattr(module, "EPILOG", None)
    module.add_arguments(parser)


def exit_codes() -> str:
    """Explain the exit codes in one sentence."""
    kinds = (
        (errors.UsageError, "invalid command line"),
        (errors.InputError, "invalid file"),
        (errors.SetupError, "something is not installed or built"),
        (errors.BoardError, "the board failed"),
        (errors.MismatchError, "results differ from the reference"),
    )
    codes = ", ".join(f"{kind.exit_code} {meaning}" for kind, meaning in kinds)
    return f"Exit codes: 0 success, {codes}, 130 stopped with Ctrl-C."


def command_module(name: str) -> Any:
    """Import the module of a command, which is its own interface."""
    return addons.load("command", name) or importlib.import_module(f"{__package__}.commands.{name}")


def _parse(chosen: str | None, argv: list[str]) -> argparse.Namespace:
    commands = discover()
    if chosen in MOVED.keys() - commands.keys():
        raise errors.UsageError(f"{chosen} is now: ethosu {MOVED[chosen]}")
    if chosen and chosen not in commands and (meant := guess(chosen, list(commands))):
        raise errors.UsageError(f"unknown command {chosen!r}; {meant}`ethosu --help` lists them")
    try:
        args, others = make_parser(chosen).parse_known_args(argv)
    except SystemExit:
        if sys.stdout:
            sys.stdout.flush()  # argparse does not report a full disk
        raise
    if others:
        raise errors.UsageError(
            f"unknown arguments: {' '.join(others)}; `ethosu {chosen} --help` lists the options"
        )
    return args


def main(argv: Sequence[str] | None = None) -> int:
    """Run `ethosu` with these arguments (default: those of the process); returns the exit code."""
    if argv is not None:
        return _run(list(argv))
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _interrupt_once)
    try:
        return _run(sys.argv[1:])
    except KeyboardInterrupt:  # during the command's end
        return 130
    finally:
        with contextlib.suppress(KeyboardInterrupt):  # during the command's end
            _ignore_interrupts()
        _end_output()


def _interrupt_once(*_: object) -> None:
    """Let Ctrl-C end the command; a second one would interrupt its clean-up with a traceback."""
    _ignore_interrupts()
    raise KeyboardInterrupt


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C; it is blocked meanwhile, because Python reports a signal that arrives here."""
    if sys.platform == "win32":
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])


def _end_output() -> None:
    """Flush the output, because Python would report a failed flush at exit."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:  # the buffered output is lost, which main() has reported
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _run(argv: list[str]) -> int:
    chosen = next((word for word in argv if not word.startswith("-")), None)
    ui = Ui(as_json="--json" in argv, quiet=True)  # until the command line has been read
    try:
        args = _parse(chosen, argv)
        command = command_module(args.command)
        ui = Ui(as_json=args.json, quiet=args.quiet)
        files.keep_inputs(vars(args))
        for remark in getattr(args, "remarks", ()):
            ui.remark(remark)
        with verification.applied(getattr(args, "verify", None)):
            data = command.execute(args, ui)
        ui.result(data, command.render(data))
        return int(data.get("exit_code", 0))
    except errors.ToolError as error:
        return _failed(ui, error, str(error), error.exit_code)
    except ModuleNotFoundError as error:
        from .base import other_python  # slow to load

        if (missing := other_python.distribution(error.name)) is None:
            raise
        text = f"the Python package {missing}, which this needs, is not installed"
        return _failed(ui, error, text, errors.SetupError.exit_code)
    except KeyboardInterrupt as error:
        return _failed(ui, error, "stopped", 130)
    except MemoryError as error:
        return _failed(ui, error, "out of memory", errors.InputError.exit_code)
    except BrokenPipeError:  # the program that reads our output, such as `head`, has ended
        return 141
    except OSError as error:  # for example, a full disk, also for stdout, or a deleted file
        where = f"{error.filename}: " if error.filename else ""
        text = f"{where}{error.strerror or error}"
        return _failed(ui, error, text, errors.InputError.exit_code)


def _failed(ui: Ui, error: BaseException, text: str, exit_code: int) -> int:
    """Report the error in one sentence."""
    text = visible(text, keep="\n" if getattr(error, "several_lines", False) else "")
    if len(text) > _LONGEST_ERROR:  # a board may send a megabyte in one line
        text = f"{text[:_LONGEST_ERROR]}..."
    if ui.as_json:
        with contextlib.suppress(OSError):
            ui.result({"error": text, "kind": type(error).__name__}, "")
    if sys.stderr:  # otherwise, print() would write to stdout
        with contextlib.suppress(OSError):
            print(f"ethosu: {text}", file=sys.stderr, flush=True)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
