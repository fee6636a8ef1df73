# SPDX-License-Identifier: MIT
"""Set-up on incomplete machines: one sentence explains the fix, and nothing is left half done."""

import os
import re
import shutil
import subprocess

import pytest


@pytest.fixture
def machine(tmp_path):
    """A PATH with only these programs: `machine(id="echo 1000")`, plus `keep` real ones."""

    def make(*keep, **programs):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in keep:
            (folder / name).symlink_to(shutil.which(name))
        for name, body in programs.items():
            path = folder / name.replace("_", "-")
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
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


def test_without_root_and_sudo_the_command_for_an_administrator_is_named(debian, machine):
    done = debian(machine(dpkg_query="exit 1", id="echo 1000"))
    assert done.returncode == 1
    assert "apt-get install gcc qemu-system-arm" in done.stderr


def test_failed_installation_names_the_packages(debian, machine):
    done = debian(machine("env", dpkg_query="exit 1", id="echo 0", apt_get="exit 100"))
    assert done.returncode == 1
    assert "could not install: gcc qemu-system-arm" in done.stderr


def test_without_dpkg_the_remedy_is_named(debian, machine):
    done = debian(machine())
    assert done.returncode == 1 and "DEBIAN=no" in done.stderr


def test_wrong_python_is_named_with_the_right_ones(repo, machine, tmp_path):
    old = machine("rm", python3="[ $1 = --version ] && echo Python 3.13.1")
    done = run(
        repo / "tools/setup/venv.sh", "venv", old["PATH"] + "/python3", env=old, cwd=tmp_path
    )
    assert done.returncode == 1 and not (tmp_path / "venv").exists()
    assert "needs CPython 3.11 or 3.12" in done.stderr and "found Python 3.13.1" in done.stderr
    assert "make PYTHON=" in done.stderr


@pytest.mark.parametrize(("code", "end"), [(0, "2 files built"), (3, "failed after 2 files")])
def test_the_counter_of_a_build_passes_on_its_failure(repo, code, end):
    build = f"echo 'CC a.c'; echo 'note: x'; echo 'LINK b'; exit {code}"
    command = [repo / "tools/setup/progress.sh", "part", "sh", "-c", build]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (code, f"note: x\n    part: {end}\n")


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
    """The set-up does not depend on variables that only one machine has."""
    env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/")}
    done = subprocess.run(
        [repo / ".venv/bin/ethosu", "--version"], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0
