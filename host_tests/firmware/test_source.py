# SPDX-License-Identifier: MIT
"""MicroPython's source comes from the first place that has it; else there is an error."""

import contextlib
import hashlib
import re
import tarfile
import threading
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from host_tests.kit import sharing

VERSION = "1.25.0"


def header(release: str) -> str:
    names = ("MAJOR", "MINOR", "MICRO")
    rows = zip(names, release.split("."), strict=True)
    return "".join(f"#define MICROPY_VERSION_{name} {number}\n" for name, number in rows)


def make_tree(tree: Path, text: str = header(VERSION)) -> Path:
    (tree / "py").mkdir(parents=True)
    (tree / "py/mpconfig.h").write_text(text)
    return tree


@pytest.fixture
def source(repo, tmp_path, monkeypatch) -> ModuleType:
    """Load the fetching script, with an empty build folder and without network access."""
    module = sharing.script(repo / "firmware/make/fetch_micropython.py")
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
    assert source.find(None) == source.find(VERSION) == tree


@pytest.mark.parametrize(
    ("release", "asked", "said"),
    [
        ("1.26.1", VERSION, "is MicroPython 1.26.1, expected 1.25.0"),
        ("1.19.0", None, "is MicroPython 1.19.0, expected 1.25.0 or newer"),
        (None, None, "holds no MicroPython source"),
    ],
)
def test_a_given_tree_that_does_not_do_stops_the_build(
    source, tmp_path, monkeypatch, release, asked, said
):
    """A given tree that is unsuitable stops the build; another source would be a surprise."""
    make_tree(source.BUILD / VERSION)
    given = make_tree(tmp_path / "mine", header(release)) if release else tmp_path
    monkeypatch.setenv("MICROPYTHON_DIR", str(given))
    with pytest.raises(source.SourceError, match=said):
        source.find(asked)


def test_a_given_tree_may_be_of_any_supported_or_newer_release(
    source, tmp_path, monkeypatch, capsys
):
    for release, said in (("1.28.0", ""), ("1.30.0", "the newest that is pinned is 1.29.0")):
        tree = make_tree(tmp_path / release, header(release))
        monkeypatch.setenv("MICROPYTHON_DIR", str(tree))
        assert source.find(None) == tree
        assert said in capsys.readouterr().err


def test_headers_of_cmsis_are_those_of_a_pinned_release(source, tmp_path, monkeypatch):
    """CMSIS headers come from a pinned release, since from 1.29 on they are a submodule."""
    pinned = make_tree(source.BUILD / "1.26.1", header("1.26.1"))
    monkeypatch.setenv("MICROPYTHON_DIR", str(make_tree(tmp_path / "mine", header("1.29.0"))))
    assert source.find_cmsis() == pinned / "lib/cmsis/inc"


def test_a_tag_that_moved_is_refused(source, tmp_path, monkeypatch):
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    origin = make_tree(tmp_path / "origin")
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["tag", "v1.25.0"]):
        sharing.run([*git, *words], origin)
    monkeypatch.setattr(source, "GIT_ADDRESS", f"file://{origin}")
    commit = sharing.run([*git, "rev-parse", "HEAD"], origin).strip()
    source.from_git({"git_tag": "v1.25.0", "commit": commit}, tmp_path / "right")
    assert source.check_tree(tmp_path / "right", VERSION)
    with pytest.raises(source.SourceError, match=f"v1.25.0 is commit {commit}, expected 0000"):
        source.from_git({"git_tag": "v1.25.0", "commit": "0000"}, tmp_path / "wrong")


def test_a_release_that_debian_lacks_comes_by_git(source, capsys):
    source.SOURCES = (
        ("Debian", source.from_debian),
        ("a clone", lambda pin, tree: make_tree(tree, header("1.28.0"))),
    )
    assert source.find("1.28.0") == source.BUILD / "1.28.0"
    assert "Debian" not in capsys.readouterr().err


def works(pin: dict, tree: Path) -> None:
    make_tree(tree)


def test_each_failure_tries_the_next_source(source, capsys):
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
    source.SOURCES = (("a source", works),)
    assert source.find(VERSION) == source.BUILD / VERSION


def test_unknown_version_names_the_known(source):
    with pytest.raises(source.SourceError, match=r"1\.9\.9 is not pinned .* 1\.25\.0, 1\.26\.1"):
        source.find("1.9.9")


@pytest.fixture
def pin(source, tmp_path, monkeypatch) -> dict[str, str]:
    """Put a tarball into a local archive folder, from which the real apt copies it."""
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
        ({"sha256": "0" * 64}, "Hash Sum mismatch|Undetermined Error"),
        ({"debian_tarball": "no-such.tar"}, "No such file"),
    ],
)
def test_a_wrong_tarball_is_one_error(source, pin, tmp_path, wrong, said):
    with pytest.raises(source.SourceError, match=said) as error:
        source.from_debian(pin | wrong, tmp_path / "tree")
    assert "\n" not in str(error.value) and not (tmp_path / "tree").exists()


def test_the_archive_of_this_machine_has_the_pinned_tarball(source, tmp_path):
    """The real apt gets the pinned tarball from this machine's package source."""
    pins = tomllib.loads(source.PINS.read_text())
    for release in {pins["default"], pins["cmsis"]}:
        source.from_debian(pins["release"][release], tmp_path / release)
        assert source.check_tree(tmp_path / release, release)
        assert (tmp_path / release / "lib/cmsis/inc/core_cm55.h").is_file()


def test_two_builds_at_a_time_fetch_once(source):
    both = threading.Barrier(2)
    fetched = []

    def meets(pin: dict, tree: Path) -> None:
        fetched.append(tree)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # without the lock, the other one gets here, too
        make_tree(tree)

    source.SOURCES = (("the only", meets),)
    builds = [threading.Thread(target=source.find, args=[VERSION]) for _ in range(2)]
    for build in builds:
        build.start()
    for build in builds:
        build.join()
    assert len(fetched) == 1 and (source.BUILD / VERSION / "py").is_dir()


RELIES_ON = tomllib.loads((sharing.REPO / "firmware/micropython.toml").read_text())["relies_on"]


def test_the_source_has_what_the_product_relies_on(source):
    """MicroPython's source, also in MICROPYTHON_DIR, has all names that the product relies on."""
    source.check_names(sharing.micropython(), RELIES_ON)


@pytest.mark.parametrize(
    ("file", "name"), [(file, name) for file, names in RELIES_ON.items() for name in names]
)
def test_a_name_that_moved_is_named(source, tmp_path, file, name):
    for each in RELIES_ON:
        text = (sharing.micropython() / each).read_text()
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text(text.replace(name, "moved") if each == file else text)
    with pytest.raises(source.SourceError, match=re.escape(f"{tmp_path / file} lacks {name}")):
        source.check_names(tmp_path, RELIES_ON)


def test_a_file_that_moved_is_named(source, tmp_path):
    with pytest.raises(source.SourceError, match=rf"{tmp_path}/\S+ lacks .*\[relies_on\]"):
        source.check_names(tmp_path, RELIES_ON)


def test_each_replaced_function_is_among_them(repo):
    """A replaced function must be listed: if it is renamed, nothing would be replaced, silently."""
    made = (repo / "firmware/Makefile").read_text()
    module = (repo / "modules/ethosu/micropython.mk").read_text()
    replaced = {
        *re.findall(r"--wrap=(\w+)", made),
        *re.findall(r"-D([a-z_]+)=[a-z_]+", made),
        *re.search(r"addprefix \$\(ETHOSU_WRAP\),([\w ]+)\)", module)[1].split(),
    }
    for header in ("storage/disk_guard.h", "port/poll.h"):
        text = (repo / "firmware" / header).read_text()
        replaced |= set(re.findall(r"^#define (?:lfs2_)?([a-z_]+)", text, re.M))
    known = " ".join(name for names in RELIES_ON.values() for name in names)
    assert len(replaced) > 20
    assert [name for name in replaced if not re.search(rf"\b(lfs2_)?{name}\b", known)] == []
