# SPDX-License-Identifier: MIT
"""Tests `make fresh`: its arguments, and one sentence on machines that lack a program."""

import shutil
import subprocess

import pytest

from host_tests.kit import sharing, stand_ins

SCRIPT = sharing.REPO / "tools/setup/fresh.sh"


def fresh(tmp_path, *arguments, **programs):
    """Run `make fresh` with only these programs, in a folder of its own."""
    for name, body in programs.items():
        stand_ins.program(tmp_path / name, body, "/bin/sh")
    return subprocess.run(
        [shutil.which("bash"), SCRIPT, *arguments],
        env={"PATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "usage: fresh.sh RELEASE [root|user]..., such as: make fresh RELEASE=trixie"),
        (("",), "usage: "),
        (("../trixie",), "usage: "),
        (("trixie", "root", "nobody"), 'WHO is "nobody", expected root or user'),
    ],
)
def test_wrong_arguments_are_named(tmp_path, arguments, said):
    done = fresh(tmp_path, *arguments)
    assert done.returncode == 2 and said in done.stderr, done


@pytest.mark.parametrize(
    ("programs", "said"),
    [
        ({"id": "echo 1000"}, "need the rights of root"),
        ({"id": "echo 0"}, "mmdebstrap and debootstrap are not installed"),
        ({"id": "echo 0", "debootstrap": ":", "unshare": "exit 1"}, "make no namespaces"),
    ],
)
def test_a_machine_without_the_means_is_no_failure(tmp_path, programs, said):
    done = fresh(tmp_path, "trixie", **programs)
    assert (done.returncode, done.stdout) == (77, ""), done
    assert said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "build").exists()


def test_make_passes_the_release_on():
    command = ["make", "--silent", "-C", sharing.REPO, "fresh", "RELEASE=trixie", "WHO=nobody"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0 and 'WHO is "nobody"' in done.stderr, done.stderr
