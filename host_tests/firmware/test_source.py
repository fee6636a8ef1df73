# SPDX-License-Identifier: MIT
"""Where MicroPython's source comes from, and the error if it is not available."""

import contextlib
import hashlib
import tarfile
import threading
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from host_tests.kit import sharing

VERSION = "1.25.0"
HEADER = """
#define MICROPY_VERSION_MAJOR 1
#define MICROPY_VERSION_MINOR 25
#define MICROPY_VERSION_MICRO 0
"""


def make_tree(tree: Path, header: str = HEADER) -> Path:
    (tree / "py").mkdir(parents=True)
    (tree / "py/mpconfig.h").write_text(header)
    return tree


@pytest.fixture
def source(repo, tmp_path, monkeypatch) -> ModuleType:
    """The fetching script, with an empty build folder and without network access."""
    module = sharing.script(repo / "firmware/fetch_micropython.py")
    monkeypatch.delenv("MICROPYTHON_DIR", raising=False)
    monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    monkeypatch.setattr(module, "SOURCES", ())
    return module


def broken(module: ModuleType, words: str):
    def fetch(pin: dict, tree: Path) -> None:
        raise module.SourceError(words)

    return fetch


def test_a_given_tree_has_priority(source, tmp_path, monkeypatch):
    tree = make_tree(tmp_path / "mine")
    make_tree(source.BUILD / VERSION)
    monkeypatch.setenv("MICROPYTHON_DIR", str(tree))
    assert source.find(None) == tree


def test_given_tree_of_another_version_is_refused_and_the_next_tried(
    source, tmp_path, monkeypatch, capsys
):
    other = make_tree(tmp_path / "mine", HEADER.replace("25", "19"))
    cached = make_tree(source.BUILD / VERSION)
    monkeypatch.setenv("MICROPYTHON_DIR", str(other))
    assert source.find(VERSION) == cached
    assert "is MicroPython 1.19.0, expected 1.25.0" in capsys.readouterr().err


def test_each_failure_tries_the_next_source(source, capsys):
    def works(pin: dict, tree: Path) -> None:
        make_tree(tree)

    source.SOURCES = (("the first", broken(source, "it rains")), ("the second", works))
    assert source.find(VERSION) == source.BUILD / VERSION
    said = capsys.readouterr().err
    assert "the first failed: it rains" in said and "from the second" in said


def test_the_remedies_are_named_when_all_sources_fail(source):
    source.SOURCES = (("the only", broken(source, "it rains")),)
    with pytest.raises(source.SourceError, match=r"apt-get update.*MICROPYTHON_DIR"):
        source.find(VERSION)
    assert not list(source.BUILD.iterdir())


def test_broken_cache_is_replaced(source):
    (source.BUILD / VERSION).mkdir(parents=True)
    source.SOURCES = (("a source", lambda pin, tree: make_tree(tree)),)
    assert source.find(VERSION) == source.BUILD / VERSION


def test_unknown_version_names_the_known(source):
    with pytest.raises(source.SourceError, match=r"1\.9\.9 is not pinned .* 1\.25\.0, 1\.26\.1"):
        source.find("1.9.9")


@pytest.fixture
def pin(source, tmp_path, monkeypatch) -> dict[str, str]:
    """A tarball in a local archive folder, from where the real apt copies it."""
    tarball = tmp_path / "micropython.orig.tar.xz"
    with tarfile.open(tarball, "w:xz") as archive:
        archive.add(make_tree(tmp_path / "micropython-1.25.0"), "micropython-1.25.0")
    monkeypatch.setattr(source, "archive", lambda: f"copy:{tmp_path}/")
    return {
        "debian_tarball": tarball.name,
        "sha256": hashlib.sha256(tarball.read_bytes()).hexdigest(),
    }


def test_right_tarball_is_unpacked(source, pin, tmp_path):
    source.from_debian(pin, tmp_path / "tree")
    assert source.check_tree(tmp_path / "tree", VERSION)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sha256": "0" * 64}, "Hash Sum mismatch"),
        ({"debian_tarball": "no-such.tar"}, "No such file"),
    ],
)
def test_a_wrong_tarball_is_one_error(source, pin, tmp_path, wrong, said):
    with pytest.raises(source.SourceError, match=said) as error:
        source.from_debian(pin | wrong, tmp_path / "tree")
    assert "\n" not in str(error.value) and not (tmp_path / "tree").exists()


def test_the_archive_of_this_machine_has_the_pinned_tarball(source, tmp_path):
    """Through the real apt, from this machine's package source."""
    pins = tomllib.loads(source.PINS.read_text())
    source.from_debian(pins["release"][pins["default"]], tmp_path / "tree")
    assert source.check_tree(tmp_path / "tree", pins["default"])


def test_two_builds_at_a_time_fetch_once(source):
    both = threading.Barrier(2)
    fetched = []

    def works(pin: dict, tree: Path) -> None:
        fetched.append(tree)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # the other one comes here, too, if nothing stops it
        make_tree(tree)

    source.SOURCES = (("the only", works),)
    builds = [threading.Thread(target=source.find, args=[VERSION]) for _ in range(2)]
    for build in builds:
        build.start()
    for build in builds:
        build.join()
    assert len(fetched) == 1 and (source.BUILD / VERSION / "py").is_dir()
