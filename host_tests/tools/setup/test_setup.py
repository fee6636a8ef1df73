# SPDX-License-Identifier: MIT
"""On incomplete machines, set-up explains the fix in one sentence, and leaves nothing."""

import contextlib
import os
import pty
import re
import shutil
import subprocess
import tomllib

import pytest

from host_tests.kit import stand_ins


@pytest.fixture
def machine(tmp_path):
    """Make a PATH with only these programs: `machine(id="echo 1000")`, and `keep` real ones."""

    def make(*keep, **programs):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in keep:
            (folder / name).symlink_to(shutil.which(name))
        for name, body in programs.items():
            stand_ins.program(folder / name.replace("_", "-"), body, "/bin/sh")
        return {"PATH": str(folder), "HOME": str(tmp_path)}

    return make


def run(script, *arguments, env, cwd):
    return subprocess.run(
        ["/bin/sh", script, *arguments],
        env=env,
        cwd=cwd,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def debian(repo, tmp_path):
    return lambda env: run(
        repo / "tools/setup/debian.sh", "gcc", "qemu-system-arm", env=env, cwd=tmp_path
    )


def test_nothing_is_installed_when_everything_exists(debian, machine):
    done = debian(machine(dpkg_query="echo installed"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_only_what_is_missing_is_installed(debian, machine, tmp_path):
    done = debian(
        machine(
            "env",
            dpkg_query='for last; do :; done\n[ "$last" = gcc ] && echo installed',
            id="echo 0",
            apt_get=f'echo "$@" >> {tmp_path}/apt.log',
        )
    )
    assert done.returncode == 0
    log = (tmp_path / "apt.log").read_text()
    assert log.split()[-1] == "qemu-system-arm" and "gcc" not in log.split()
    assert log.split()[:4] == ["-q", "install", "-y", "--no-install-recommends"]


def test_old_package_lists_are_renewed_once(debian, machine, tmp_path):
    state = tmp_path / "updated"
    done = debian(
        machine(
            "env",
            "touch",
            dpkg_query="exit 1",
            id="echo 0",
            apt_get=f'case "$*" in *update) touch {state};; *) [ -e {state} ];; esac',
        )
    )
    assert done.returncode == 0 and state.exists()


@pytest.mark.parametrize(
    ("keep", "programs", "said"),
    [
        ((), {}, "DEBIAN=no"),
        ((), {"dpkg_query": "exit 1", "id": "echo 1000"}, "apt-get install gcc qemu-system-arm"),
        (
            ("env",),
            {"dpkg_query": "exit 1", "id": "echo 0", "apt_get": "exit 100"},
            "could not install: gcc qemu-system-arm",
        ),
    ],
    ids=["without dpkg", "without root and sudo", "no installation"],
)
def test_a_failure_names_packages_or_remedy(debian, machine, keep, programs, said):
    done = debian(machine(*keep, **programs))
    assert done.returncode == 1 and said in done.stderr


def test_wrong_python_is_named_with_the_right_ones(repo, machine, tmp_path):
    old = machine("rm", python3="[ $1 = --version ] && echo Python 3.14.1")
    done = run(
        repo / "tools/setup/venv.sh", "venv", old["PATH"] + "/python3", env=old, cwd=tmp_path
    )
    assert done.returncode == 1 and not (tmp_path / "venv").exists()
    assert (
        "needs CPython 3.11, 3.12 or 3.13" in done.stderr and "found Python 3.14.1" in done.stderr
    )
    assert "make PYTHON=" in done.stderr


@pytest.mark.parametrize(("code", "end"), [(0, "2 files built"), (3, "failed after 2 files")])
def test_the_counter_of_a_build_passes_on_its_failure(repo, code, end):
    build = f"echo 'CC a.c'; echo 'note: x'; echo 'LINK b'; exit {code}"
    command = [repo / "tools/setup/progress.sh", "part", "sh", "-c", build]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, f"note: x\n    part: {end}\n")


@pytest.fixture
def on_a_terminal():
    """Run a command on a terminal, with variables; returns its output."""

    def run(words, **variables):
        ours, its = pty.openpty()
        kept = {name: os.environ[name] for name in ("HOME", "PATH")}
        with subprocess.Popen(words, stdout=its, stderr=its, env=kept | variables) as process:
            os.close(its)
            said = b""
            with contextlib.suppress(OSError):  # the end of a terminal
                while more := os.read(ours, 4096):
                    said += more
        os.close(ours)
        assert process.returncode == 0, said
        return said.decode().replace("\r\n", "\n")

    return run


HEADING = "==> a part"


def heading(repo):
    return ["make", "-C", repo, "-s", "--no-print-directory", "--eval=x:; $(call say,a part)", "x"]


def test_headings_are_bold_on_a_terminal_only(repo, on_a_terminal):
    assert on_a_terminal(heading(repo), TERM="xterm") == f"\033[1m{HEADING}\033[0m\n"
    assert on_a_terminal(heading(repo), TERM="dumb") == f"{HEADING}\n"
    assert on_a_terminal(heading(repo), TERM="xterm", NO_COLOR="1") == f"{HEADING}\n"
    written = subprocess.run(heading(repo), capture_output=True, text=True, check=True).stdout
    assert written == f"{HEADING}\n"


def test_the_counter_of_a_build_writes_over_its_line_where_it_can(repo, on_a_terminal):
    command = [repo / "tools/setup/progress.sh", "part", "sh", "-c", "echo CC a.c"]
    assert "\r\033[K    part: 1 files built\n" in on_a_terminal(command, TERM="xterm")
    assert on_a_terminal(command, TERM="dumb") == "    part: 1 files built\n"


def test_make_without_a_target_lists_the_targets(repo):
    done = subprocess.run(["make", "-C", repo], capture_output=True, text=True, check=True)
    for target in ("setup", "demo", "test", "clean", "distclean"):
        assert re.search(rf"^  make {target} +\S", done.stdout, re.MULTILINE)


def test_lock_names_no_package_index(repo):
    lock = (repo / "requirements.lock").read_text()
    assert "://" not in lock and "--index" not in lock and "--find-links" not in lock
    assert len(re.findall(r"--hash=sha256:", lock)) >= len(
        re.findall(r"^[a-z]", lock, re.MULTILINE)
    )


def test_programs_run_without_the_users_environment(repo):
    """Programs run without the user's environment, so set-up is the same everywhere."""
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(
        [repo / ".venv/bin/ethosu", "--version"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0


def test_the_supported_releases_of_python_are_the_same_everywhere(repo):
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    named = [
        tuple(map(int, words.rpartition(" ")[2].split(".")))
        for words in project["classifiers"]
        if words.startswith("Programming Language :: Python")
    ]
    assert len(named) >= 2
    (first, _), (last, minor) = named[0], named[-1]
    assert project["requires-python"] == f">={first}.{named[0][1]},<{last}.{minor + 1}"
    script = (repo / "tools/setup/venv.sh").read_text()
    assert f"sys.version_info[:2] in {tuple(named)}" in script
    assert all(f" python{major}.{minor} " in script for major, minor in named)


def test_the_lock_names_the_reference_of_each_release(repo):
    project = tomllib.loads((repo / "pyproject.toml").read_text())["project"]
    lock = (repo / "requirements.lock").read_text()
    for wanted in project["optional-dependencies"]["oracle"]:
        pin, _, marker = wanted.partition("; ")
        marker = marker.replace("python_version", "python_full_version")
        assert f"{pin} ; {marker} \\\n" in lock
