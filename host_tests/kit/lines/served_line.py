# SPDX-License-Identifier: MIT
"""Serves a serial port of this PC at a TCP port."""

import contextlib
import os
import select
import socket
import threading
import tty

PIECE = 65536


@contextlib.contextmanager
def serve(port, manager=lambda _: None):
    """Serve a serial port to one client at a time; yields the TCP port.

    `manager`, of a client's socket, may be a PortManager of pyserial, which escapes bytes.
    """
    line = os.open(port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_accept, args=(server, line, manager, ended), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        ended.set()
        thread.join()
    os.close(line)


def _accept(server, line, manager, ended):
    server.settimeout(0.1)
    while not ended.is_set():
        with contextlib.suppress(OSError):
            client, _ = server.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _forward(client, line, manager(client), ended)


def _forward(client, line, manager, ended):
    while not ended.is_set():
        readable, _, _ = select.select([client.fileno(), line], [], [], 0.1)
        if client.fileno() in readable:
            data = client.recv(PIECE)
            if not data:
                return
            data = b"".join(manager.filter(data)) if manager else data
            while data:
                data = data[os.write(line, data) :]
        if line in readable:
            data = os.read(line, PIECE)
            client.sendall(b"".join(manager.escape(data)) if manager else data)
