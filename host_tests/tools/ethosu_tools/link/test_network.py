# SPDX-License-Identifier: MIT
"""A board behind rfc2217://, which escapes bytes and negotiates settings, works like any other.

Behind socket://, bytes are read many at a time.
"""

import socket
import threading
from types import SimpleNamespace

import pytest
import serial
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator import qemu
from ethosu_tools.link.port import Port
from serial import rfc2217

from host_tests.kit.lines.served_line import serve


class Manager(rfc2217.PortManager):
    """pyserial's own server side, without modem lines, which a pseudo terminal lacks."""

    def check_modem_lines(self, force_notification=False):
        pass


def nothing(*_):
    pass


SETTINGS = {"baudrate": 115200, "bytesize": 8, "parity": "N", "stopbits": 1}
LINES = dict.fromkeys(("rtscts", "xonxoff", "dtr", "rts", "break_condition"), False)
CALLS = dict.fromkeys(("apply_settings", "reset_input_buffer", "reset_output_buffer"), nothing)


def manager(client):
    port = SimpleNamespace(**SETTINGS, **LINES, **CALLS, get_settings=dict)
    return Manager(port, SimpleNamespace(write=client.sendall))


@pytest.fixture
def url(board_npu):
    with qemu.Machine(emulated(npu=board_npu)) as machine, serve(machine.port, manager) as port:
        yield f"rfc2217://127.0.0.1:{port}"


def test_all_bytes_pass_in_both_directions(url):
    data = bytes(range(256)) * 100 + b"\xff\x03\x1b" * 1000
    with Board(url) as board:
        board.write_file("/x", data)
        assert board.read_file("/x") == data


def test_a_network_port_is_read_many_bytes_at_a_time(monkeypatch):
    data = bytes(range(256)) * 2000
    with socket.create_server(("127.0.0.1", 0)) as server:
        line = serial.serial_for_url(f"socket://127.0.0.1:{server.getsockname()[1]}")
        client, _ = server.accept()
        sender = threading.Thread(target=client.sendall, args=(data,))
        sender.start()
        read, sizes = line.read, []
        monkeypatch.setattr(line, "read", lambda size: (sizes.append(size), read(size))[1])
        with client, line:
            assert Port(line).read(len(data)) == data
            sender.join()
    assert len(sizes) < len(data) / 100
