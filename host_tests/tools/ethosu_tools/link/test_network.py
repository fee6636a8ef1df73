# SPDX-License-Identifier: MIT
"""A board behind rfc2217://, which escapes bytes and negotiates settings, works like any other."""

import os
import select
import socket
import threading
import tty
from types import SimpleNamespace

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link import qemu
from ethosu_tools.link.board import Board
from serial import rfc2217


class Manager(rfc2217.PortManager):
    """pyserial's own server side, without modem lines, which a pseudo terminal lacks."""

    def check_modem_lines(self, force_notification=False):
        pass


def nothing(*_):
    pass


SETTINGS = {"baudrate": 115200, "bytesize": 8, "parity": "N", "stopbits": 1}
LINES = dict.fromkeys(("rtscts", "xonxoff", "dtr", "rts", "break_condition"), False)
CALLS = dict.fromkeys(("apply_settings", "reset_input_buffer", "reset_output_buffer"), nothing)


def serve(line, server):
    client, _ = server.accept()
    port = SimpleNamespace(**SETTINGS, **LINES, **CALLS, get_settings=dict)
    manager = Manager(port, SimpleNamespace(write=client.sendall))
    with client:
        while True:
            readable, _, _ = select.select([client.fileno(), line], [], [])
            if client.fileno() in readable:
                data = client.recv(4096)
                if not data:
                    return
                os.write(line, b"".join(manager.filter(data)))
            if line in readable:
                client.sendall(b"".join(manager.escape(os.read(line, 4096))))


@pytest.fixture
def url(board_npu):
    with (
        qemu.Machine(emulated(npu=board_npu)) as machine,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        line = os.open(machine.port, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(line)
        thread = threading.Thread(target=serve, args=(line, server), daemon=True)
        thread.start()
        yield f"rfc2217://127.0.0.1:{server.getsockname()[1]}"
        thread.join()
        os.close(line)


def test_all_bytes_pass_in_both_directions(url):
    data = bytes(range(256)) * 100 + b"\xff\x03\x1b" * 1000
    with Board(url) as board:
        board.write_file("/x", data)
        assert board.read_file("/x") == data
