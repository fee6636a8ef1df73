# SPDX-License-Identifier: MIT
"""Measure samples per second on the simulator, QEMU, a port, a socket."""

import argparse
import contextlib
import os
import select
import socket
import sys
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ethosu_tools.base.errors import MismatchError
from ethosu_tools.base.ui import Ui, positive
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.open import open_runner
from ethosu_tools.link.qemu import Machine
from ethosu_tools.model import arrays
from ethosu_tools.model.arrays import Array, Feed
from ethosu_tools.model.vela_versions import open_model
from ethosu_tools.sim.difference import Difference

from host_tests.lab import script

_PIECE = 65536


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("model", type=Path, help="a compiled model")
    parser.add_argument("--samples", type=positive, default=300, help="their number (default: 300)")
    parser.add_argument("--on", metavar="PORT", help="measure a real board as well: port or URL")


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Run the same samples everywhere; MismatchError if the results differ."""
    file = open_model(ui, args.model)
    description = file.compiled
    count = args.samples
    feed = arrays.as_feed(arrays.random_steps(description.inputs, count, seed=1))
    rates: dict[str, float] = {}
    expected: list[list[Array]] = []
    npu = str(description.npu)
    with (
        Machine(emulated(npu=npu)) as machine,
        Machine(emulated(npu=npu)) as served,
        serve(served.port) as url,
    ):
        targets = {"sim": "sim", "qemu": "qemu", "pty": machine.port, "socket": url}
        targets |= {args.on: args.on} if args.on else {}
        for name, where in targets.items():
            with open_runner(file, where) as runner, ui.progress(name) as progress:
                list(runner.run(Feed(feed.arrays, 1, has_time=True)))
                start, found = time.perf_counter(), []
                for row in runner.run(feed):
                    found.append(row)
                    progress(len(found), count)
                rates[name] = count / (time.perf_counter() - start)
            expected = expected or found
            if Difference.of_outputs(found, expected).differing:
                raise MismatchError(f"the results on {name} differ from those of the simulator")
    return {
        "model": str(args.model),
        "samples": count,
        "input_bytes": sum(tensor.size for tensor in description.inputs),
        "samples_per_second": rates,
    }


def render(data: dict[str, Any]) -> str:
    """One line per target."""
    lines = [f"{data['samples']} samples of {data['input_bytes']:,} bytes, with the same results"]
    lines += [f"{name:<8} {rate:10,.0f}/s" for name, rate in data["samples_per_second"].items()]
    return "\n".join(lines)


@contextlib.contextmanager
def serve(port: str) -> Iterator[str]:
    """Serve a serial port over TCP, to one client at a time; yields its URL."""
    line = os.open(port, os.O_RDWR | os.O_NOCTTY)
    tty.setraw(line)
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_accept, args=(server, line, ended), daemon=True)
        thread.start()
        yield f"socket://127.0.0.1:{server.getsockname()[1]}"
        ended.set()
        thread.join()
    os.close(line)


def _accept(server: socket.socket, line: int, ended: threading.Event) -> None:
    server.settimeout(0.1)
    while not ended.is_set():
        with contextlib.suppress(OSError):
            client, _ = server.accept()
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _forward(client, line, ended)


def _forward(client: socket.socket, line: int, ended: threading.Event) -> None:
    while not ended.is_set():
        readable, _, _ = select.select([client.fileno(), line], [], [], 0.1)
        if client.fileno() in readable:
            data = client.recv(_PIECE)
            if not data:
                return
            while data:
                data = data[os.write(line, data) :]
        if line in readable:
            client.sendall(os.read(line, _PIECE))


if __name__ == "__main__":
    script.main(sys.modules[__name__])
