# SPDX-License-Identifier: MIT
"""Labgrid places, with its own coordinator and exporter, work like other boards."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest
from ethosu_tools.base.deadline import Deadline
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import qemu

from host_tests.kit import sharing
from host_tests.kit.lines.served_line import serve

pytestmark = pytest.mark.slow

TESTS = """\
import pytest

@pytest.mark.ethosu(tags=["rack=2"])
def test_by_tag(board):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u55-64"]

@pytest.mark.ethosu(npu="ethos-u55-256")
def test_by_npu(board):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u55-256"]
    board.exec("import os")

def test_lent(board_port):
    from ethosu_tools.link.board import open_board
    with open_board(board_port) as board:
        assert board.eval("6 * 7") == 42
"""
EXPORTED = """\
one:
  NetworkSerialPort: {{host: 127.0.0.1, port: {one}, protocol: raw}}
two:
  {two}
none:
  NetworkService: {{address: 127.0.0.1, username: nobody}}
"""
PLACES = {"one": "rack=2", "two": "rack=3", "none": "rack=4"}


def free_port():
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return made.getsockname()[1]


@contextlib.contextmanager
def running(*command, environment, log):
    with (
        log.open("w") as output,
        subprocess.Popen(
            command, cwd=log.parent, env=environment, stdout=output, stderr=output
        ) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start a labgrid with two emulated boards, and a place without a serial line."""
    folder = tmp_path_factory.mktemp("lab")
    python = sharing.python_with(folder / "python", "labgrid==26.0.1")
    address = f"127.0.0.1:{free_port()}"
    environment = {**os.environ, "LG_COORDINATOR": address}

    def program(name, *words):
        return python, "-m", f"labgrid.remote.{name}", *words

    def client(*words, user="tester"):
        done = subprocess.run(
            program("client", *words),
            env={**environment, "LG_USERNAME": user},
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    with contextlib.ExitStack() as stack:
        first = stack.enter_context(qemu.Machine(emulated(npu="ethos-u55-64")))
        second = stack.enter_context(qemu.Machine(emulated(npu="ethos-u55-256")))
        one = stack.enter_context(serve(first.port))
        if shutil.which("ser2net", path="/usr/sbin:/usr/bin"):
            two = f"RawSerialPort: {{port: {second.port}}}"
        else:
            port = stack.enter_context(serve(second.port))
            two = f"NetworkSerialPort: {{host: 127.0.0.1, port: {port}, protocol: raw}}"
        config = folder / "exported.yaml"
        config.write_text(EXPORTED.format(one=one, two=two))
        for words in (
            program("coordinator", "-l", address),
            program("exporter", "-n", "bench", "--hostname", "127.0.0.1", "-c", address, config),
        ):
            log = folder / f"{words[2]}.log"
            process = stack.enter_context(running(*words, environment=environment, log=log))
            deadline = Deadline(30, process)
            while (
                "bench" not in client("resources")[1]
                if "exporter" in words[2]
                else (client("places")[0])
            ):
                assert process.poll() is None and not deadline.expired(), log.read_text()
        for name, tag in PLACES.items():
            for words in (["create"], ["add-match", f"bench/{name}/*"], ["set-tags", tag]):
                code, out = client("-p", name, *words)
                assert code == 0, out
        yield SimpleNamespace(python=python, address=address, client=client)


@pytest.fixture
def users_pytest(tmp_path, monkeypatch, lab):
    """Run pytest in a separate user folder, with a Python that lacks labgrid."""
    monkeypatch.setenv("ETHOSU_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("LG_COORDINATOR", lab.address)
    monkeypatch.setenv("LG_USERNAME", "tester")
    monkeypatch.setenv("LABGRID_PYTHON", str(lab.python))

    def run(*options, tests=TESTS):
        (tmp_path / "test_mine.py").write_text(tests)
        command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return run


def acquired(lab, name):
    return next(
        line.split()[-1]
        for line in lab.client("-p", name, "show")[1].splitlines()
        if line.strip().startswith("acquired:")
    )


@pytest.mark.parametrize("workers", ["0", "2"])
def test_places_are_a_pool(users_pytest, lab, workers):
    code, out = users_pytest(
        "-n", workers, "--ethosu-port", "labgrid:one", "--ethosu-port", "labgrid:rack=3"
    )
    assert code == 0 and "3 passed" in out, out
    assert [acquired(lab, name) for name in PLACES] == ["None"] * 3, "all are released"


def test_place_of_another_is_one_clear_failure(users_pytest, lab):
    assert lab.client("-p", "one", "acquire", user="another")[0] == 0
    try:
        code, out = users_pytest("--ethosu-port", "labgrid:one", "-k", "lent")
        assert code == 1 and "1 error" in out and "Traceback" not in out, out
        assert "no board is free: labgrid:one is in use by " in out and "/another, according" in out
        options = ["--ethosu-port", "labgrid:rack=2", "--ethosu-port", "labgrid:two"]
        code, out = users_pytest(*options, "-k", "npu or lent")
        assert code == 0 and "2 passed" in out, out
        assert acquired(lab, "one").endswith("/another") and acquired(lab, "two") == "None"
    finally:
        assert lab.client("-p", "one", "release", user="another")[0] == 0


KILLED = """\
import os, signal
def test_killed(board):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_killed_run_leaves_a_place_that_the_next_releases(users_pytest, lab):
    options = ["--ethosu-port", "labgrid:one"]
    assert users_pytest(*options, tests=KILLED)[0] < 0
    assert acquired(lab, "one").endswith("/tester")
    code, out = users_pytest(*options, "-k", "tag")
    assert code == 0 and "1 passed" in out, out
    assert acquired(lab, "one") == "None"


def test_manually_acquired_place_stays_acquired(users_pytest, lab):
    """A place acquired by hand stays acquired after a run that was killed or has ended."""
    options = ["--ethosu-port", "labgrid:one"]
    assert lab.client("-p", "one", "acquire")[0] == 0
    assert users_pytest(*options, tests=KILLED)[0] < 0
    code, out = users_pytest(*options, "-k", "tag or lent")
    assert code == 0 and "2 passed" in out, out
    assert acquired(lab, "one").endswith("/tester")
    assert lab.client("-p", "one", "release")[0] == 0


def test_unknown_places_are_reported(users_pytest, lab, monkeypatch, ethosu):
    code, out = users_pytest("--ethosu-port", "labgrid:rack=9")
    listed = "its places are none rack=4; one rack=2; two rack=3"
    assert code == 4 and f"no place 'rack=9'; {listed}" in out
    code, out = users_pytest("--ethosu-port", "labgrid:none")
    assert code == 1 and "the place none has no NetworkSerialPort; its resources" in out, out
    assert acquired(lab, "none") == "None"
    monkeypatch.setenv("LG_COORDINATOR", f"127.0.0.1:{free_port()}")
    code, out = users_pytest("--ethosu-port", "labgrid:one")
    assert code == 4 and "labgrid's coordinator at 127.0.0.1:" in out and "not respond" in out
    monkeypatch.setenv("LABGRID_PYTHON", "/usr/bin/python3")
    code, out = users_pytest("--ethosu-port", "labgrid:one")
    assert code == 4 and "cannot load labgrid: ModuleNotFoundError: No module named 'lab" in out
    assert "`ethosu doctor --install labgrid`, or select another Python with LABGRID_PYTHON" in out
    monkeypatch.setenv("LABGRID_PYTHON", "/no/python")
    code, out = users_pytest("--ethosu-port", "labgrid:one")
    assert code == 4 and "LABGRID_PYTHON names /no/python, which cannot be run: No such" in out
