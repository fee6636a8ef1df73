# SPDX-License-Identifier: MIT
"""The newer QEMU is fetched once, despite concurrent callers or leftovers of an earlier run."""

import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from host_tests.tools.qemu_plugin import releases


def program(path, version):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho QEMU emulator version {version}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def downloads(monkeypatch, tmp_path):
    """Threads that have downloaded a package of version 9.0.0; the installed one is 1.0.0."""
    tree = tmp_path / "tree"
    program(tree / "usr/bin" / releases.PROGRAM, "9.0.0")
    (tree / "usr/lib/any/qemu").mkdir(parents=True)
    (tree / "DEBIAN").mkdir()
    control = "Package: q\nVersion: 1\nArchitecture: all\nMaintainer: m <m@e>\nDescription: d\n"
    (tree / "DEBIAN/control").write_text(control)
    installed = program(tmp_path / "old" / releases.PROGRAM, "1.0.0")
    both, threads = threading.Barrier(2), []

    def download(release, to):
        threads.append(threading.current_thread())
        with suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # so that a second thread, if it may, downloads at the same time
        to.mkdir(parents=True, exist_ok=True)
        subprocess.run(["dpkg-deb", "--build", tree, to / "q.deb"], check=True, capture_output=True)
        return [to / "q.deb"]

    monkeypatch.setattr(releases, "BUILD", tmp_path / "build/qemu")
    monkeypatch.setattr(releases, "_download", download)
    monkeypatch.setattr(releases, "installed", lambda: installed)
    return threads


def test_two_at_once_fetch_it_once(downloads):
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(releases.backports) for _ in range(2))
    assert first.result() == second.result()
    assert releases.version(first.result()) == (9, 0, 0)
    assert len(downloads) == 1


def test_the_leftovers_of_an_interrupted_run_are_replaced(downloads):
    (releases.BUILD / "root/usr/bin").mkdir(parents=True)
    (releases.BUILD / "root/usr/bin/sh").touch()
    assert releases.version(releases.backports()) == (9, 0, 0)
    assert not (releases.BUILD / "root/usr/bin/sh").exists()
    assert sorted(path.name for path in releases.BUILD.parent.iterdir()) == ["qemu", "qemu.lock"]
