# SPDX-License-Identifier: MIT
"""Tries the newest release of each dependency, one at a time: `make newest`.

newest.toml lists them, with the tests that use each. A release is installed in an environment below
build/newest, before the packages of .venv, which stays as it is. A release that breaks fails
nothing: the table says what broke first.

Usage: newest.py [--heavy] [--json] [NAME...]
"""

import argparse
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ethosu_tools import boards
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BUILD = ROOT / "build/newest"
MICROPYTHON = "https://github.com/micropython/micropython.git"
# Tests of a board, which run on another firmware or another QEMU.
SHORT = " ".join(
    f"host_tests/modules/ethosu/binding/{name}.py"
    for name in ("npu/test_npu", "python/test_results")
)
BOARD = boards.DEFAULT
PYTEST = "python -m pytest -q -n 2 --dist worksteal"
AS_PINNED = "is the pinned one"
PASSES = "passes"
_HOUR = 3600


class NotTriedError(Exception):
    """Nothing could be tried; the text says why."""


@dataclass(frozen=True)
class Row:
    """A row of the table: a dependency and the result of trying it."""

    dependency: str
    pinned: str
    newest: str
    result: str
    behind: str = ""


def run(command: Sequence[object] | str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command or a line of the shell; after an hour, it counts as failed."""
    words = command if isinstance(command, str) else [str(word) for word in command]
    with subprocess.Popen(
        words, shell=isinstance(words, str), stdin=subprocess.DEVNULL, cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        start_new_session=True, **more,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=_HOUR)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # also the boards that its tests started
            return subprocess.CompletedProcess(words, 1, "no end after an hour")
    return subprocess.CompletedProcess(words, process.returncode, output)


def pip(*words: object) -> subprocess.CompletedProcess[str]:
    """Run the pip of .venv, for another environment with `--python`."""
    return run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words])


def first_break(output: str) -> str:
    """Return what failed first, in one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    broken = re.compile(r"(FAILED|ERROR) \S|(ERROR|error|.*: (fatal )?error|E  ):? |.*\*\*\* ")
    ends = [line for line in lines if re.match(r"(FAILED|ERROR) host_tests", line)]
    found = ends or [line for line in lines if broken.match(line)] or lines[-1:] or ["no output"]
    return found[0][:200]


# --- Releases ------------------------------------------------------------------


def pins(root: Path = ROOT) -> dict[str, str]:
    """Read the requirements of pyproject.toml by name, with versions such as "==1.2.0"."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    lines = [*project["dependencies"], *(line for extra in extras for line in extra)]
    return {each.name: str(each.specifier) for each in here(lines)}


def locked(root: Path = ROOT) -> dict[str, str]:
    """Read the releases of requirements.lock."""
    text = (root / "requirements.lock").read_text()
    lines = re.findall(r"^([\w-]+==.*?) \\$", text, re.MULTILINE)
    return {each.name: str(each.specifier).removeprefix("==") for each in here(lines)}


def here(lines: Sequence[str]) -> list[Requirement]:
    """Select the requirements for this release of Python."""
    every = map(Requirement, lines)
    return [each for each in every if each.marker is None or each.marker.evaluate()]


def newest(name: str) -> str:
    """Return the newest release that pip would install for this Python."""
    report = BUILD / "report.json"
    BUILD.mkdir(parents=True, exist_ok=True)
    options = ("--quiet", "--dry-run", "--no-deps", "--ignore-installed", "--report", report)
    done = pip("install", *options, name)
    if done.returncode:
        raise NotTriedError("the package index has no release for this Python, or is not reached")
    return json.loads(report.read_text())["install"][0]["metadata"]["version"]


# --- Environments --------------------------------------------------------------


def environment(name: str, *, alone: bool = False) -> Path:
    """Create an empty environment; unless `alone`, .venv's packages follow its own."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", "--without-pip", folder])
    if not alone:
        packages = next(folder.glob("lib/python*/site-packages"))
        line = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
        (packages / "behind.pth").write_text(line)
        for program in Path(sys.prefix, "bin").iterdir():
            copy_program(program, folder / "bin" / program.name)
    return folder


def copy_program(program: Path, to: Path) -> None:
    """Make a program run in another environment, unless it has no Python."""
    start = f"#!{sys.prefix}/bin/python".encode()
    text = b"" if to.exists() or not program.is_file() else program.read_bytes()
    if text.startswith(start):
        _, rest = text.split(b"\n", 1)
        to.write_bytes(f"#!{to.parent}/python\n".encode() + rest)
        to.chmod(0o755)


def install(folder: Path, *packages: str) -> None:
    """Install packages in an environment; raises NotTriedError with pip's reason."""
    done = pip("--python", folder / "bin/python", "install", "--quiet", *packages)
    if done.returncode:
        raise NotTriedError(f"cannot be installed: {first_break(done.stdout)}")


def attempt(command: str, folder: Path, **variables: str) -> str:
    """Run a command with an environment's programs; returns "passes" or what broke first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    path = f"{folder / 'bin'}:{kept['PATH']}"
    done = run(command, env=kept | {"PATH": path, "FOLDER": str(folder)} | variables)
    if "pytest" in command and not done.returncode and not re.search(r"\d passed", done.stdout):
        return "not tried: its tests were skipped"
    return first_break(done.stdout) if done.returncode else PASSES


# --- Kinds of dependencies -----------------------------------------------------


def try_package(name: str, row: dict[str, Any], release: str) -> str:
    """Install a package over those of .venv, and run its tests; if they fail, also without it."""
    print(f"{name} {release} …", file=sys.stderr)
    folder = environment(name)
    install(folder, f"{name}=={release}")
    command = row.get("run") or f"{PYTEST} {row['try']}"
    result = attempt(command, folder, **dict.fromkeys(row.get("permit", []), release))
    if result == PASSES or result.startswith("not tried"):
        return result
    if attempt(command, environment(f"{name}-pinned")) != PASSES:
        return f"not known, because the pinned one breaks, too: {result}"
    return result


def try_kit(kit: str, table: dict[str, dict[str, Any]]) -> str:
    """Install an extra as `doctor --install` would, and run its tests, most of which are slow."""
    from ethosu_tools.base import other_python

    print(f"{kit} …", file=sys.stderr)
    data = BUILD / "data"
    folder = environment(f"data/ethosu/{kit}", alone=True)
    run([folder / "bin/python", "-m", "ensurepip"])
    free = [name for name, row in table.items() if row.get("kit") == kit and "held_by" not in row]
    held = [pin for pin in other_python.pins(kit) if re.split("[=<>]", pin)[0] not in free]
    try:
        install(folder, *(f"{name}=={newest(name)}" for name in free), *held)
    except NotTriedError as error:
        return str(error)
    (folder / other_python._MARK).write_text("\n".join(other_python.pins(kit)))
    (tests,) = (table[name]["try"] for name in free if "try" in table[name])
    return attempt(f"{PYTEST} -m '' {tests}", Path(sys.prefix), XDG_DATA_HOME=str(data))


def packages(table: dict[str, dict[str, Any]], heavy: bool, names: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the packages in `names`, or of all."""
    asked, lock, releases, kits = pins(), locked(), {}, {}
    for name, row in table.items():
        if names and name not in names:
            continue
        pinned = lock.get(name) or asked[name].removeprefix("==") or "any"
        result, kit = "", row.get("kit")
        try:
            releases[name] = newest(name)
            if "held_by" in row:
                result = f"not tried: {row['held_by']} asks for the pinned one"
            elif releases[name] == pinned and (not kit or not heavy):
                result = AS_PINNED
            elif kit and not heavy:
                result = "not tried: HEAVY=yes does"
            elif kit:
                if kit not in kits:
                    kits[kit] = try_kit(kit, table)
                result = kits[kit]
            else:
                result = try_package(name, row, releases[name])
        except NotTriedError as error:
            result = str(error)
        yield Row(name, pinned, releases.get(name, "?"), result, row.get("behind", ""))


def micropython() -> Row:
    """Build an image from MicroPython's main or MICROPYTHON_DIR, and run tests on it."""
    release = tomllib.loads((ROOT / "firmware/micropython.toml").read_text())["default"]
    tree, image = BUILD / "micropython-main", BUILD / "image"
    given = os.environ.get("MICROPYTHON_DIR")
    if given:
        tree = Path(given).resolve()
    else:
        shutil.rmtree(tree, ignore_errors=True)
        git = {"GIT_TERMINAL_PROMPT": "0"}
        done = run(["git", "clone", "-q", "--depth=1", MICROPYTHON, tree], env=os.environ | git)
        if done.returncode:
            why = f"not tried: {first_break(done.stdout)}"
            return Row("micropython", release, "?", why)
    newest = str(tree)
    if (tree / ".git").exists():
        newest = run(["git", "-C", tree, "log", "-1", "--format=%cs %h"]).stdout.strip()
    folder, to = Path(sys.prefix), shlex.quote(f"BUILD={image}")
    make = f"make -sj{os.cpu_count()} -C firmware BOARD={BOARD} {to}"
    result = attempt(make, folder, MICROPYTHON_DIR=str(tree))
    if result == PASSES:
        root = tree_with(image)
        result = attempt(f"{PYTEST} {SHORT}", folder, ETHOSU_ROOT=str(root))
    return Row("micropython", release, newest, result)


def tree_with(image: Path) -> Path:
    """Make a tree that differs from this one only in the board's image."""
    root = BUILD / "root"
    shutil.rmtree(root, ignore_errors=True)
    for folder, without in ((".", "build"), ("build", "firmware"), ("build/firmware", BOARD)):
        (root / folder).mkdir()
        for path in (ROOT / folder).iterdir():
            if path.name not in (without, BUILD.name):
                (root / folder / path.name).symlink_to(path)
    (root / "build/firmware" / BOARD).symlink_to(image)
    return root


def qemu() -> Row:
    """Try the QEMU of Debian testing, unpacked below build/."""
    from host_tests.kit.debian import PackageMissingError
    from host_tests.tools.qemu_plugin import releases

    installed = ".".join(map(str, releases.version(releases.installed())))
    releases.SUITES["testing"] = ("testing",)
    try:
        program = releases.program("testing")
        newest = ".".join(map(str, releases.version(program)))
    except PackageMissingError as error:
        return Row("qemu", installed, "?", f"not tried: {error}")
    result = attempt(f"{PYTEST} {SHORT}", Path(sys.prefix), ETHOSU_QEMU=str(program))
    return Row("qemu", installed, newest, result)


OTHERS: dict[str, Callable[[], Row]] = {"micropython": micropython, "qemu": qemu}


# --- Table ---------------------------------------------------------------------


def text(rows: Sequence[Row]) -> str:
    """Format the rows as a table, followed by the reasons why some are behind."""
    columns = ("dependency", "pinned", "newest", "result")
    cells = [columns, *([getattr(row, name) for name in columns] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(3)]
    lines = [
        "  ".join(
            [*(cell.ljust(width) for cell, width in zip(line[:3], widths, strict=True)), line[3]]
        )
        for line in cells
    ]
    reasons = [f"{row.dependency} is behind: {row.behind}." for row in rows if row.behind]
    return "\n".join([*lines, *[""] * bool(reasons), *reasons])


def every_row(table: dict[str, dict[str, Any]], heavy: bool, names: Sequence[str]) -> Iterator[Row]:
    """Yield rows as they become known, since a run takes hours and may be stopped."""
    yield from packages(table, heavy, names or [*table])
    for name, make in OTHERS.items():
        if not names or name in names:
            yield make()


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; a dependency that broke is no failure of this script."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--heavy", action="store_true", help="also the kits of gigabytes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("names", nargs="*", metavar="NAME", help="dependencies; default: all")
    options = parser.parse_args(words)
    table = tomllib.loads((HERE / "newest.toml").read_text())
    if unknown := set(options.names) - {*table, *OTHERS}:
        parser.error(
            f"unknown: {', '.join(sorted(unknown))}; expected {', '.join([*table, *OTHERS])}"
        )
    rows = []
    for row in every_row(table, options.heavy, options.names):
        rows.append(row)
        print(f"{row.dependency} {row.newest}: {row.result}", file=sys.stderr, flush=True)
    print(json.dumps([asdict(row) for row in rows], indent=1) if options.json else text(rows))
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
