# SPDX-License-Identifier: MIT
"""One of Debian's QEMUs is fetched once, despite concurrent callers, and runs in place."""

import shutil
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from host_tests.kit import debian, stand_ins
from host_tests.tools.qemu_plugin import releases

LOADER = """\
shift 2
exec "$@"
"""


@pytest.fixture
def tree(tmp_path):
    """Make the files of packages of version 9.0.0, with a loader that runs any program."""
    tree = tmp_path / "tree"
    for name, text in {
        "usr/bin/" + releases.PROGRAM: 'echo "QEMU emulator version 9.0.0; $*"\n',
        "usr/lib64/ld-linux-any.so.2": LOADER,
        "usr/lib/any/libc.so.6": "",
    }.items():
        (tree / name).parent.mkdir(parents=True)
        stand_ins.program(tree / name, text, "/bin/sh")
    return tree


@pytest.fixture
def downloads(monkeypatch, tmp_path, tree):
    """Record the threads that have downloaded the packages."""
    both, threads = threading.Barrier(2), []

    def download(suites, to):
        threads.append(threading.current_thread())
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # so that a second thread, if it may, downloads at the same time
        shutil.copytree(tree, to)

    monkeypatch.setattr(releases, "BUILD", tmp_path / "build/qemu")
    monkeypatch.setattr(releases, "_download", download)
    return threads


def test_two_at_once_fetch_it_once(downloads):
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(releases.program, releases.NEWEST) for _ in range(2))
    assert first.result() == second.result()
    assert releases.version(first.result()) == (9, 0, 0)
    assert len(downloads) == 1


def test_it_runs_with_its_own_data_and_the_callers_words(downloads):
    program = releases.program(releases.NEWEST)
    said = subprocess.run([program, "a b", "c"], capture_output=True, text=True).stdout
    data = program.parent / "root/usr/share/qemu"
    assert said == f"QEMU emulator version 9.0.0; -L {data} a b c\n"


@pytest.mark.parametrize("lost", ["usr/bin", "usr/lib64", "usr/lib/any"])
def test_an_incomplete_release_is_not_kept(downloads, tree, lost):
    shutil.rmtree(tree / lost)
    with pytest.raises(debian.PackageMissingError, match="do not hold it with its C library"):
        releases.program(releases.NEWEST)
    assert [path.name for path in releases.BUILD.iterdir()] == [f"{releases.NEWEST}.lock"]


def test_an_archive_that_is_not_reached_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(releases, "BUILD", tmp_path / "build/qemu")
    monkeypatch.setattr(debian, "_address", lambda: "http://127.0.0.1:9/debian")
    with pytest.raises(debian.PackageMissingError) as error:
        releases.program(releases.NEWEST)
    assert "127.0.0.1:9" in str(error.value) and "\n" not in str(error.value)
