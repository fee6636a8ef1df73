# SPDX-License-Identifier: MIT
"""Tests `make newest`: the table of dependencies, reasons to be behind, environments."""

import itertools
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import xmodem
from ethosu_tools import boards
from ethosu_tools.base import paths

from host_tests.kit import sharing
from host_tests.kit.process.processes import wait_for_end
from host_tests.kit.sharing import REPO
from host_tests.tools.qemu_plugin import releases
from host_tests.tree import rooms

newest = sharing.script(REPO / "tools/setup/newest.py")
TABLE = tomllib.loads((REPO / "tools/setup/newest.toml").read_text())
ADDONS = rooms.table("addons.toml")
FOLDERS = [folder for addon in ADDONS.values() for folder in addon["folders"]]
EXACT = {name: pin[2:] for name, pin in newest.pins().items() if pin.startswith("==")}


def test_each_dependency_is_in_the_table():
    assert set(TABLE) == set(newest.pins())


def every_pin(name: str) -> set[str]:
    """Return the releases to which pyproject.toml pins a dependency, for any Python."""
    text = (REPO / "pyproject.toml").read_text()
    return set(re.findall(rf'"{name}==([^;" ]+)', text))


@pytest.mark.parametrize("name", TABLE)
def test_what_is_behind_has_a_reason(name):
    """Each pinned dependency that is behind has a reason; `make lock` updates all others."""
    row = TABLE[name]
    assert ("seen" in row) == (name in EXACT), "`seen` is for what is pinned with =="
    behind = every_pin(name) - {row.get("seen")} != set()
    assert ("behind" in row) == behind, "a reason, if it is behind"
    assert not row.get("behind", "x").endswith("."), "the table adds the full stop"
    assert row.get("held_by", "onnx2tf") in TABLE


@pytest.mark.parametrize("name", EXACT)
def test_the_lock_has_what_is_pinned(name):
    assert newest.locked().get(name, EXACT[name]) == EXACT[name]


def test_what_is_not_pinned_is_locked_or_extra():
    loose = {name for name in newest.pins() if name not in EXACT}
    assert loose - set(newest.locked()) == {"distributed"}  # its users install it


@pytest.mark.parametrize("name", TABLE)
def test_its_tests_are_there(name):
    row = TABLE[name]
    kit = [each for each in TABLE.values() if each.get("kit") == row.get("kit", "none")]
    assert ("try" in row) + ("run" in row) == 1 or sum("try" in each for each in kit) == 1
    for word in re.findall(r"host_tests/\S+", row.get("try", "")):
        of_addon = any(word.startswith(folder) for folder in FOLDERS)  # which may be gone
        assert (REPO / word).exists() or of_addon, word


@pytest.mark.parametrize(
    "name", [name for name, row in TABLE.items() if "-k" in row.get("try", "")]
)
def test_its_options_leave_tests_in_each_file(name):
    """Options, which apply to all files, leave tests in each file."""
    row = TABLE[name]
    collect = newest.PYTEST.replace("-n 2 --dist worksteal", "--collect-only")
    slow_too = "-m ''" if "kit" in row else ""
    command = f"{collect} {slow_too} {row['try']}"
    found = newest.run(command, env=os.environ | {"PATH": f"{Path(sys.executable).parent}:/bin"})
    for path in re.findall(r"host_tests/\S+", row["try"]):
        assert re.search(rf"^{re.escape(path)}\b.*::", found.stdout, re.MULTILINE), path


@pytest.fixture
def attempts(monkeypatch, tmp_path):
    """Record commands and variables of attempts, which install nothing and end with `ends`."""
    calls = SimpleNamespace(
        installed=[], commands=[], variables=[], ends=itertools.repeat("passes")
    )

    def attempt(command, _folder=None, **variables):
        calls.commands.append(command)
        calls.variables.append(variables)
        return next(calls.ends)

    monkeypatch.setattr(newest, "BUILD", tmp_path)
    monkeypatch.setattr(newest, "install", lambda _, *packages: calls.installed.extend(packages))
    monkeypatch.setattr(newest, "environment", lambda name, **_: tmp_path / name)
    monkeypatch.setattr(newest, "attempt", attempt)
    return calls


def test_a_release_that_is_refused_is_permitted(attempts):
    """A refused release is permitted for the attempt, but not for the pinned one."""
    attempts.ends = itertools.repeat("breaks")
    newest.try_package("ai-edge-litert", TABLE["ai-edge-litert"], "99.1")
    assert attempts.variables == [{"ETHOSU_LITERT": "99.1"}, {}]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make an environment with another xmodem than .venv's."""
    monkeypatch.setattr(newest, "BUILD", tmp_path)
    folder = newest.environment("xmodem")
    (next(folder.glob("lib/python*/site-packages")) / "xmodem.py").write_text("NEW = True\n")
    return folder


def test_an_environment_has_its_own_release_before_those_of_venv(folder):
    code = "import sys, numpy, ethosu_tools, xmodem; assert xmodem.NEW; print(sys.prefix)"
    assert newest.attempt(f'python -c "{code}"', folder) == "passes"
    (program,) = re.findall(r"^#!(.*)$", (folder / "bin/ethosu").read_text().split("\n")[0])
    assert program == f"{folder}/bin/python"
    assert newest.attempt("ethosu --version", folder) == "passes"
    assert not hasattr(xmodem, "NEW")


def test_a_command_that_fails_is_a_line(folder):
    assert newest.attempt("python -c 'import nothing_of_that_name'", folder) == (
        "ModuleNotFoundError: No module named 'nothing_of_that_name'"
    )


def test_tests_that_are_skipped_try_nothing(folder, tmp_path):
    test = tmp_path / "test_x.py"
    for body, result in (
        ("pytest.skip('no network')", "not tried: its tests were skipped"),
        ("pass", "passes"),
        ("assert 1 == 2", "E  "),
    ):
        test.write_text(f"import pytest\n\n\ndef test_x():\n    {body}\n")
        command = f"python -m pytest -q -p no:cacheprovider -c {os.devnull} {test}"
        assert newest.attempt(command, folder).startswith(result)


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("x\nE  no\nFAILED host_tests/a.py::b - no\nFAILED host_tests/c.py\n1 failed", "FAILED "),
        ("Collecting x\nERROR: No matching distribution\nnote: y", "ERROR: No matching"),
        ("a.c:3:1: error: no member\nmake: *** [x] Error 1", "a.c:3:1: error: no member"),
        ("make: *** [x] Error 1\n", "make: *** [x] Error 1"),
        ("nothing known\nat the end", "at the end"),
        ("", "no output"),
    ],
)
def test_the_first_break_is_one_line(output, line):
    assert newest.first_break(output).startswith(line)


@pytest.fixture
def without_index(monkeypatch):
    """Replace the package index and the git server by ones that refuse."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    settings = {"CONFIG_FILE": os.devnull, "INDEX_URL": "http://127.0.0.1:1", "RETRIES": "0"}
    for name, value in settings.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setattr(newest, "MICROPYTHON", "http://127.0.0.1:1/micropython.git")
    monkeypatch.delenv("MICROPYTHON_DIR", raising=False)


def test_without_a_network_each_row_says_so(without_index, capsys):
    assert newest.main(["ruff", "micropython", "--json"]) == 0
    ruff, micropython = json.loads(capsys.readouterr().out)
    assert ruff["newest"] == micropython["newest"] == "?"
    assert "is not reached" in ruff["result"]
    assert micropython["result"].startswith("not tried: fatal: ")


def tried(monkeypatch, releases, breaks):
    """Set the newest releases and what breaks; returns what was tried."""
    log = []

    def attempt(name, _, release):
        log.append((name, release))
        return breaks.get(name, "passes")

    monkeypatch.setattr(newest, "newest", lambda name: releases.get(name, "1"))
    monkeypatch.setattr(newest, "try_package", attempt)
    return log


def test_a_break_is_reported_and_fails_nothing(monkeypatch, capsys):
    locked = newest.locked()
    log = tried(
        monkeypatch,
        {"ruff": locked["ruff"], "mypy": "99.1", "ai-edge-litert": "9.9", "torch": "9.0"},
        {"mypy": "FAILED host_tests/x.py::y - no"},
    )
    assert newest.main(["ai-edge-litert", "mypy", "ruff", "torch", "onnx"]) == 0
    out = capsys.readouterr().out
    assert log == [("ai-edge-litert", "9.9"), ("mypy", "99.1")]
    assert re.search(
        rf"^ai-edge-litert +{locked['ai-edge-litert']} +9\.9 +passes$", out, re.MULTILINE
    )
    assert re.search(r"^mypy +\S+ +99\.1 +FAILED host_tests/x\.py::y - no$", out, re.MULTILINE)
    assert re.search(r"^ruff +\S+ +\S+ +is the pinned one$", out, re.MULTILINE)
    assert re.search(r"^torch +2\.\S+ +9\.0 +not tried: HEAVY=yes does$", out, re.MULTILINE)
    assert "not tried: onnx2tf asks for the pinned one" in out
    assert f"ai-edge-litert is behind: {TABLE['ai-edge-litert']['behind']}." in out


def test_what_is_known_is_shown_before_the_end(monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt

    tried(monkeypatch, {"mypy": "99.1"}, {"mypy": "FAILED y"})
    monkeypatch.setitem(newest.OTHERS, "micropython", stopped)
    with pytest.raises(KeyboardInterrupt):
        newest.main(["mypy", "micropython"])
    assert "mypy 99.1: FAILED y\n" in capsys.readouterr().err


def test_what_the_pinned_release_breaks_is_not_blamed(attempts):
    attempts.ends = iter(["FAILED host_tests/x.py", "FAILED host_tests/x.py", "FAILED y", "passes"])
    row = {"run": "true"}
    assert "the pinned one breaks, too" in newest.try_package("x", row, "1")
    assert newest.try_package("x", row, "1") == "FAILED y"


def test_a_command_without_an_end_is_a_line(monkeypatch, tmp_path):
    monkeypatch.setattr(newest, "_HOUR", 0.01)
    assert newest.run("sleep 60").stdout == "no end after an hour"
    monkeypatch.setattr(newest, "_HOUR", 5.0)
    assert newest.run(f"sleep 321 & echo $! >{tmp_path / 'pid'}; wait").returncode == 1
    wait_for_end(int((tmp_path / "pid").read_text()))


def test_unknown_names_are_refused(capsys):
    with pytest.raises(SystemExit):
        newest.main(["nothing"])
    assert "unknown: nothing; expected cffi, " in capsys.readouterr().err


def test_the_night_tries_all_and_goes_on(repo):
    """`make nightly` tries all dependencies, including kits, and goes on after a failure."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    for target, heavy in (("nightly", "HEAVY=yes"), ("newest", "")):
        command = ["make", "-n", "-C", repo, target, "MAKE=: sub"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
        assert heavy in done.stdout and ("newest" in done.stdout)
        assert "--heavy" not in done.stdout


def test_a_kit_is_where_its_commands_look(attempts, monkeypatch, tmp_path):
    monkeypatch.setattr(newest, "run", lambda *_, **__: None)
    (tmp_path / "data/ethosu/executorch").mkdir(parents=True)
    monkeypatch.setattr(newest, "newest", {"executorch": "7", "torch": "8"}.get)
    assert newest.try_kit("executorch", TABLE) == "passes"
    assert {"executorch==7", "torch==8", "ml_dtypes==0.5.1"} <= set(attempts.installed)
    monkeypatch.setenv("XDG_DATA_HOME", attempts.variables[-1]["XDG_DATA_HOME"])
    from ethosu_tools.base import other_python

    assert other_python.environment("executorch") is not None


def test_a_tree_with_another_image_has_all_else(monkeypatch, tmp_path):
    monkeypatch.setattr(newest, "BUILD", tmp_path)
    image = tmp_path / "image"
    image.mkdir()
    (image / "firmware.elf").write_text("new")
    monkeypatch.setenv("ETHOSU_ROOT", str(newest.tree_with(image)))
    assert paths.firmware(newest.BOARD).read_text() == "new"
    assert paths.host_library().is_file() and boards.load("NUMAKER_M55M1").qemu


def test_a_micropython_that_does_not_build_is_a_line(attempts, monkeypatch, tmp_path):
    """A MicroPython that does not build gives a line, which names the given folder."""
    attempts.ends = iter(["x.c:1:1: error: no member"])
    monkeypatch.setenv("MICROPYTHON_DIR", str(tmp_path))
    row = newest.micropython()
    assert (row.newest, row.result) == (str(tmp_path), "x.c:1:1: error: no member")
    assert [command.split()[0] for command in attempts.commands] == ["make"]
    assert attempts.variables == [{"MICROPYTHON_DIR": str(tmp_path)}]


@pytest.mark.parametrize("there", [True, False])
def test_qemu_is_that_of_debian_testing(attempts, monkeypatch, tmp_path, there):
    program = tmp_path / releases.PROGRAM

    def fetch(release):
        assert releases.SUITES[release] == ("testing",)
        if not there:
            raise releases.PackageMissingError("no archive")
        return program

    monkeypatch.setattr(releases, "SUITES", dict(releases.SUITES))
    monkeypatch.setattr(releases, "program", fetch)
    monkeypatch.setattr(releases, "version", lambda path: (12, 1) if path == program else (7, 2))
    row = newest.qemu()
    assert row.pinned == "7.2" and row.newest == ("12.1" if there else "?")
    assert row.result == ("passes" if there else "not tried: no archive")
    assert attempts.variables == [{"ETHOSU_QEMU": str(program)}] * there
