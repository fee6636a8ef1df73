# SPDX-License-Identifier: MIT
"""Shares results of make, and files that are created once, among all test processes.

Two workers of one run, or two runs in one tree, never write the same file. Builds take turns, and
a file of the cache appears complete, under a name derived from everything it was made from.
"""

import contextlib
import fcntl
import functools
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

from host_tests.kit import needs

REPO = Path(__file__).resolve().parents[2]
BUILD = REPO / "build"
CACHE = BUILD / "cache"
# Cache files unused for this long are removed.
KEPT_S = 3 * 24 * 3600

_SOURCES = ("modules", "tools", "host_tests", "boards", "firmware")
_C_SUFFIXES = frozenset({".c", ".def", ".h", ".inc", ".mk"})
_TOOL_SUFFIXES = frozenset({".ini", ".py"})


def run(words: Iterable[object], folder: Path | None = None) -> str:
    """Run a command and return its standard output; on failure, report all output."""
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


@functools.cache
def make(folder: str, *arguments: str) -> None:
    """Run make in a folder of the tree, once for all processes of a run; it must succeed.

    Other processes wait until it ends.
    """

    def run_make(place: Path) -> None:
        done = try_make(folder, *arguments)
        assert done.returncode == 0, f"{' '.join(done.args)}: {done.stdout}{done.stderr}"
        place.touch()

    this_run = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()} {time.time()}"
    cached("made", ("make", this_run, folder, *arguments), run_make)


def try_make(folder: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run make like `make` does; it may fail."""
    environment = {name: os.environ[name] for name in os.environ if not name.startswith("MAKE")}
    command = ["make", f"-j{os.cpu_count() or 1}", "-C", str(REPO / folder), *arguments]
    with turn():
        return subprocess.run(command, capture_output=True, text=True, env=environment)


def stamp(file: Path) -> tuple[int, ...]:
    """Return a stamp that changes when a build replaces a file, as a key for caches."""
    status = file.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@functools.cache
def micropython(*options: str) -> Path:
    """Return the firmware's MicroPython source; with `--cmsis`, Arm's headers."""
    return Path(run(["python3", REPO / "firmware/make/fetch_micropython.py", *options]).strip())


def script(path: Path) -> ModuleType:
    """Load a fresh copy of a Python program that is not part of a package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as Python does for a program
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def ask_module(lines: str, *options: str) -> str:
    """Return make's output for these lines after modules/ethosu/micropython.mk, with options."""
    text = f"USERMOD_DIR := {REPO}/modules/ethosu\ninclude $(USERMOD_DIR)/micropython.mk\n{lines}"
    command = ["make", "-s", "-f", "-", "all", *options]
    done = subprocess.run(command, input=text, check=True, capture_output=True, text=True)
    return done.stdout


def cached(name: str, made_from: Iterable[object], maker: Callable[[Path], object]) -> Path:
    """Return the file or folder created by `maker(path)`, once; it is read-only for callers.

    `made_from` are the parts of the key: texts, bytes, or files, of which the contents count.
    """
    key = hashlib.sha256(environment())
    for part in made_from:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data if isinstance(data, bytes) else str(data).encode()
        key.update(b"%d:" % len(data) + data)
    place = CACHE / f"{key.hexdigest()[:32]}-{name}"
    if not place.exists():
        with _one_maker(place), tempfile.TemporaryDirectory(prefix="new-", dir=CACHE) as folder:
            if not place.exists():
                new = Path(folder) / name
                maker(new)
                new.replace(place)
    with contextlib.suppress(FileNotFoundError):
        os.utime(place)
    return place


def program(name: str, command: Iterable[object], *, folder: Path | None = None) -> Path:
    """Return the C program built by a compiler command, which must end with `-o`.

    After any source has changed it is linked again, but only objects whose source or included
    headers have changed are compiled again.
    """
    words = [str(word) for word in command]
    linked = [Path(folder or "", word) for word in words if word.endswith((".a", ".o"))]

    def build(output: Path) -> None:
        sources = [word for word in words if word.endswith(".c")]
        flags = [word for word in words[:-1] if word not in sources and not _is_for_linker(word)]
        made = dict(zip(sources, objects(flags, sources, folder=folder), strict=True))
        run([*(made.get(word, word) for word in words), output], folder)

    return cached(name, ("program", c_sources(), *words, *linked), build)


def _is_for_linker(word: str) -> bool:
    return word.startswith(("-T", "-Wl,", "-l", "-shared")) or word.endswith((".a", ".ld", ".o"))


def objects(
    flags: Iterable[object], sources: Iterable[object], *, folder: Path | None = None
) -> list[Path]:
    """Compile sources, once for all programs with the same preprocessed text."""
    words = [str(flag) for flag in flags]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(lambda source: _object(words, str(source), folder), sources))


def _object(flags: list[str], source: str, folder: Path | None) -> Path:
    text = run([*flags, "-E", source], folder)
    command = [*flags, "-c", source, "-o"]
    # The preprocessed text shows the effect of macros and include folders on a source.
    others = [word for word in command if not word.startswith(("-D", "-I"))]
    name = f"{Path(source).stem}.o"
    return cached(name, ("object", *others, text), lambda output: run([*command, output], folder))


def folder_with(name: str, text: str) -> Path:
    """Return a folder that contains one file with this text, such as a header for `program`."""

    def write(folder: Path) -> None:
        folder.mkdir()
        (folder / name).write_text(text)

    return cached(name, ("file", text), write)


def python_with(folder: Path, *packages: str) -> Path:
    """Return the Python of a new environment with packages and the tools; skip without them."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [str(folder / "bin/python"), "-m", "pip", "install", "-q", *packages]
    done = subprocess.run(install, capture_output=True, text=True)
    if done.returncode != 0:
        needs.missing(f"NOT TESTED WITH {' '.join(packages)}: {done.stderr.strip()[-200:]}")
    site = next(folder.glob("lib/python*/site-packages"))
    (site / "tools.pth").write_text("\n".join(path for path in sys.path if path))
    return folder / "bin/python"


def forget_old() -> None:
    """Remove files that no run has used for KEPT_S."""
    oldest = time.time() - KEPT_S
    for entry in CACHE.iterdir() if CACHE.is_dir() else ():
        with contextlib.suppress(FileNotFoundError):
            if entry.stat().st_mtime < oldest:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


@functools.cache
def c_sources() -> bytes:
    """Return a digest of all C sources of the tree."""
    return _digest(_C_SUFFIXES, _SOURCES)


@functools.cache
def tool_sources() -> bytes:
    """Return a digest of the host tools' sources."""
    return _digest(_TOOL_SUFFIXES, ("tools/ethosu_tools",))


@functools.cache
def environment() -> bytes:
    """Return a digest of the installed programs: Python's and Debian's packages."""
    key = hashlib.sha256(sys.version.encode())
    for info in sorted(Path(sys.prefix).glob("lib/python*/site-packages/*.dist-info/RECORD")):
        key.update(info.read_bytes())
    with contextlib.suppress(FileNotFoundError):
        key.update(Path("/var/lib/dpkg/status").read_bytes())
    return key.digest()


def _digest(suffixes: frozenset[str], folders: Iterable[str]) -> bytes:
    key = hashlib.sha256()
    for folder in folders:
        for path in sorted((REPO / folder).rglob("*")):
            if (path.suffix in suffixes or path.name == "Makefile") and path.is_file():
                key.update(str(path.relative_to(REPO)).encode() + b"\0")
                key.update(hashlib.sha256(path.read_bytes()).digest())
    return key.digest()


@contextlib.contextmanager
def _one_maker(place: Path) -> Iterator[None]:
    """Wait until no other process is creating this file."""
    locks = CACHE / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / place.name).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def turn() -> Iterator[None]:
    """Wait until no other process is building; a lock is released when its process ends."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
