# SPDX-License-Identifier: MIT
"""What the page's runner does besides computing."""

import contextlib
import ctypes
import os
import socket
import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from ethosu_tools.addons.web import board, instance, runner
from ethosu_tools.base import paths
from ethosu_tools.base.errors import (
    BoardError,
    BoardResetError,
    InputError,
    RemoteError,
    SetupError,
)
from ethosu_tools.link.board import Board
from ethosu_tools.link.open import open_runner

from host_tests.tools.ethosu_tools.link import test_runners

from . import needed


def test_state_is_kept_from_block_to_block(compiled):
    needed.web()
    test_runners.check_state(compiled, "web")


def test_the_board_in_wasmtime_keeps_files_over_a_reset_and_ends_with_this_process(monkeypatch):
    needed.web()
    monkeypatch.setattr(board, "_node", lambda: Path("absent"))
    npus = ["ethos-u55-128", "ethos-u85-256"]
    with board.WebBoard(npus) as web:
        with Board(web.port) as link:
            assert link.ask("import ethosu\n_answer = list(ethosu.npus())") == [
                "ethos-u55-128",
                "ethos-u85-256",
            ]
            link.exec("with open('/kept', 'w') as file: file.write('here')")
            with pytest.raises(BoardResetError):
                link.exec("import machine; machine.reset()")
        with Board(web.port) as link:  # another program, after the first
            assert link.ask("_answer = open('/kept').read()") == "here"
            deep = "def deep(n): return 1 + deep(n + 1)\ndeep(0)"
            with pytest.raises(RemoteError, match="maximum recursion depth exceeded"):
                link.exec(deep)
        web.process.stdin.close()
        assert web.process.wait(60) == 0


@pytest.fixture
def without_node(monkeypatch):
    needed.web()
    monkeypatch.setattr(board, "_node", lambda: Path("absent"))


def connect(port, greeting=None):
    """Open a TCP port, and send this."""
    parts = urlsplit(port)
    line = socket.create_connection((parts.hostname, parts.port), timeout=30)
    line.sendall((parts.username or "").encode() if greeting is None else greeting)
    return line


def until(line, ending):
    """Read until these bytes have come."""
    data = b""
    while ending not in data:
        data += (more := line.recv(4096))
        assert more, data
    return data


MUCH = 100_000_000  # more than a system keeps for a connection


def fill(line):
    """Send until the other end takes no more, and at most MUCH; return the number of bytes."""
    line.settimeout(1)
    sent = 0
    with contextlib.suppress(TimeoutError):
        while sent < MUCH:
            sent += line.send(b"x" * (1 << 16))
    return sent


def test_the_console_keeps_little_of_what_the_board_does_not_read():
    console = instance.Console(b"")
    with connect(f"socket://127.0.0.1:{console.port}") as line:
        sent = fill(line)
        assert sent < MUCH
        received = len(console.read(sent))
        assert received <= 1 << 17
        while received < sent:  # all of it comes, now that it is read
            console.wait(30)
            received += len(console.read(sent))


def test_ctrl_c_stops_a_busy_board_in_wasmtime_behind_other_input(without_node):
    with board.WebBoard() as web, connect(web.port) as line:
        until(line, b">>> ")
        line.sendall(b"while True: pass\r\r\r")
        until(line, b"... \r\n")
        line.sendall(b"x" * 4000 + b"\x03")
        until(line, b"KeyboardInterrupt: \r\n>>> ")


@pytest.mark.parametrize("node", [True, False])
def test_a_program_that_passes_memory_it_lacks_ends_with_a_reason(node, monkeypatch):
    needed.web()
    if not node:
        monkeypatch.setattr(board, "_node", lambda: Path("absent"))
    says = "Invalid typed array length" if node else r"passed 2,147,483,647 bytes at 0x.* has 134,"
    code = "import machine, sys\nb = bytes(9)\nmachine.mem32[id(b) + 8] = 0x7fffffff\n"
    with board.WebBoard() as web, board.WebLink(web) as link:
        with pytest.raises(BoardError, match=f"its process has ended: [^$]*{says}"):
            link.exec(code + "sys.stdout.buffer.write(b)", timeout=1)
        assert web.process.returncode > 0


def test_only_the_boards_own_memory_is_touched():
    memory = (ctypes.c_char * 16)()
    given = object.__new__(instance.Instance)
    vars(given).update(_base=ctypes.addressof(memory), _size=8, _npus=[b"ethos-u55-128"])
    assert given._npu(0, 4, 4) == 4 and bytes(memory[:]) == b"\0\0\0\0etho" + bytes(8)
    assert given._npu(1, 0, 8) == given._npu(-1, 0, 8) == given._npu(0, 0, 0) == 0
    for at, size in ((5, 4), (-1, 1), (0, -1), (-8, 8), (0x7FFFFFFF, 0x7FFFFFFF)):
        with pytest.raises(instance._OutsideError, match="its memory has 8"):
            given._bytes(at, size)


STRANGERS = {
    "another user": b"\r\x03",
    "who says nothing": b"",
    "a wrong word": b"0" * 64,
    "a web page": b"POST / HTTP/1.1\r\n\r\nprint()\r\n",
}


@pytest.mark.parametrize("greeting", STRANGERS.values(), ids=STRANGERS)
def test_only_who_knows_the_word_reaches_the_board(greeting, without_node):
    with board.WebBoard() as web:
        with connect(web.port, greeting) as line, contextlib.suppress(ConnectionResetError):
            assert line.recv(100) == b""
        with board.WebLink(web) as link:
            assert link.ask("_answer = 1") == 1


PAGES = {
    "HTTP": b"POST /%s HTTP/1.1\r\n\r\n" % (b"x" * (1 << 17)),
    "HTTP with a method of its own": b"anything /",
    "TLS": b"\x16\x03\x01",
    "WebRTC over TCP": b"\x00\x10\x00\x01",
}


@pytest.mark.parametrize("greeting", PAGES.values(), ids=PAGES)
def test_no_web_page_reaches_a_shared_console(greeting):
    console = instance.Console(b"")
    with (
        contextlib.suppress(ConnectionError),
        connect(f"socket://127.0.0.1:{console.port}", greeting) as line,
    ):
        assert line.recv(100) == b""
    assert console.read(100) == b""
    with connect(f"socket://127.0.0.1:{console.port}", b"\r\x03"):  # mpremote
        console.wait(30)
    assert console.read(100) == b"\r\x03"


def open_files():
    return Counter(each.readlink() for each in Path("/proc/self/fd").iterdir() if each.exists())


def test_a_board_that_does_not_start_leaves_no_file_open(monkeypatch):
    needed.web()
    before = open_files()
    with monkeypatch.context() as patch, pytest.raises(SetupError):
        patch.setattr(board, "image_file", lambda *_: paths.built(Path("absent"), "web"))
        board.WebBoard()
    with monkeypatch.context() as patch, pytest.raises(PermissionError):
        patch.setattr(board.shutil, "which", lambda name: "/")
        board.WebBoard()
    assert not open_files() - before


def test_a_board_in_wasmtime_that_is_not_compiled_in_time_is_an_error(
    without_node, tmp_path, monkeypatch
):
    os.mkfifo(tmp_path / "never.wasm")
    monkeypatch.setattr(board, "image_file", lambda name: tmp_path / "never.wasm")
    monkeypatch.setattr(board, "_START_S", 3)
    with pytest.raises(BoardError, match="did not start, for which it has 3 s: it printed nothing"):
        board.WebBoard()


def test_little_is_kept_of_what_a_board_says(monkeypatch):
    log = board.Excerpt(board._LOG_BYTES)
    says = "print('x' * 100_000_000, end='the end')"
    with subprocess.Popen([board.sys.executable, "-c", says], stdout=subprocess.PIPE) as process:
        board._keep(process.stdout, log)
    assert log.size() > 100_000_000 and len(log.data()) < 10_000 and log.end(7) == b"the end"


def test_a_package_without_the_board_says_what_it_needs(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "_BUNDLED", tmp_path)
    monkeypatch.setattr(paths, "root", lambda: tmp_path)
    monkeypatch.setattr(board.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"this package of ethosu-tools does not include it.*web"):
        board.WebBoard()


def test_without_node_and_wasmtime_one_sentence_says_so(without_node, monkeypatch):
    monkeypatch.setattr(board.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match=r"neither node nor .* wasmtime"):
        board.WebBoard()


def test_a_wrong_file_is_refused_before_a_board_is_opened(small_models, monkeypatch):
    monkeypatch.setattr(runner, "WebBoard", lambda *_, **__: pytest.fail("a board was opened"))
    with pytest.raises(InputError, match=r"never compiled.*run: ethosu compile"):
        open_runner(small_models["small_cnn"], "web", npu="ethos-u55-128")
