# SPDX-License-Identifier: MIT
"""By serial line, with a boot loader that uses the library's receiver."""

import contextlib
import io
import logging
import os
import select
import threading
import tty

import pytest
from ethosu_tools.flash import serial_line
from xmodem import XMODEM

from . import IMAGE

QUIET = logging.Logger("boot loader")
QUIET.addHandler(logging.NullHandler())


class BootLoader:
    """A boot loader on a pseudo terminal, which receives an image with the library's receiver.

    It damages the blocks with numbers in `damaged`, and falls silent after `silent_after`.
    """

    def __init__(self, damaged=(), silent_after=None):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)
        self.damaged, self.silent_after = set(damaged), silent_after
        self.blocks, self.image, self.ended = 0, io.BytesIO(), False
        self.closing = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closing.set()
        self.thread.join(timeout=10)
        os.close(self.slave)
        os.close(self.master)

    def _get(self, size, timeout=1):
        data = b""
        while len(data) < size:
            if self.closing.is_set() or not select.select([self.master], [], [], timeout)[0]:
                break
            data += os.read(self.master, size - len(data))
        if size > 1 and data:
            self.blocks += 1
            if self.silent_after is not None and self.blocks > self.silent_after:
                raise OSError
            if self.blocks in self.damaged:
                data = data[:9] + bytes([data[9] ^ 1]) + data[10:]
        return data or None

    def _put(self, data, timeout=1):
        return os.write(self.master, bytes(data))

    def _wait_for(self, key):
        while not self.closing.is_set() and self._get(1) != key:
            pass

    def _serve(self):
        with contextlib.suppress(OSError):
            self._put(b"1st BL Modem\r\nPlease input any key to enter X-Modem mode in 100 ms\r\n")
            self._wait_for(b"1")
            self._put(b"[0] Reboot system\r\n[1] Xmodem download and burn FW image\r\n")
            self._wait_for(b"1")
            self._put(b"Send data using the xmodem protocol from your terminal\r\n")
            modem = XMODEM(self._get, self._put)
            modem.log = QUIET
            modem.recv(self.image, retry=1000, timeout=1, quiet=True)
            self._put(b"Do you want to end file transmission and reboot system? (y)\r\n")
            self._wait_for(b"y")
            self.ended = True


@pytest.fixture
def we2_tool(tmp_path, bin_folder):
    """Folder of a fake image tool, whose image is the ELF file after a mark."""
    folder = tmp_path / "we2"
    text = (
        "assert sys.argv[1:] == ['project.json']\n"
        "elf = pathlib.Path('in/firmware.elf').read_bytes()\n"
        "pathlib.Path('out/output.img').write_bytes(b'IMG!' + elf)\n"
    )
    for name in ("in", "out"):
        (folder / name).mkdir(parents=True)
    bin_folder("we2_local_image_gen", text, folder)
    return folder


@pytest.mark.parametrize("damaged", [(), (1, 4, 5)])
def test_a_boot_loader_gets_the_whole_image_over_a_bad_line(flashed, tree, we2_tool, damaged):
    with BootLoader(damaged) as loader:
        words = "--way", "xmodem", "--port", loader.port, "--tools", we2_tool
        data = flashed(*words)
        loader.thread.join(timeout=10)
    expected = b"IMG!\x7fELF" + IMAGE
    assert loader.image.getvalue() == expected.ljust(-(-len(expected) // 128) * 128, b"\x1a")
    assert loader.ended and data["bytes"] == len(expected)
    assert bool(data["sent_again"]) == bool(damaged)


def test_a_finished_image_is_sent_unchanged(flashed, tree, tmp_path):
    image = tmp_path / "output.img"
    image.write_bytes(IMAGE)
    with BootLoader() as loader:
        flashed("--way", "xmodem", "--port", loader.port, "--firmware", image)
    assert loader.image.getvalue() == IMAGE


def test_a_boot_loader_that_never_answers_is_one_error(ethosu, tree, we2_tool, monkeypatch):
    monkeypatch.setattr(serial_line, "BOOT_TIMEOUT_S", 0.5)
    master, slave = os.openpty()
    words = "--way", "xmodem", "--port", os.ttyname(slave), "--tools", we2_tool
    code, _, err = ethosu("flash", "B", *words)
    os.close(slave)
    os.close(master)
    assert (code, err.count("\n")) == (5, 1)
    assert "did not send 'Send data using the xmodem protocol' within 0.5 s" in err


def test_a_boot_loader_that_falls_silent_is_one_error(ethosu, tree, we2_tool, monkeypatch):
    monkeypatch.setattr(serial_line, "BLOCK_TIMEOUT_S", 0.3)
    monkeypatch.setattr(serial_line, "TRIES", 2)
    with BootLoader(silent_after=3) as loader:
        words = "--way", "xmodem", "--port", loader.port, "--tools", we2_tool
        code, _, err = ethosu("flash", "B", *words)
    assert (code, err.count("\n")) == (5, 1)
    assert "accepted 3 of 41 blocks" in err


def test_the_message_of_a_failing_image_tool_is_shown(ethosu, tree, we2_tool, bin_folder):
    bin_folder("we2_local_image_gen", "print('no section .table'); sys.exit(3)", we2_tool)
    words = "--way", "xmodem", "--port", "PORT", "--tools", we2_tool
    code, _, err = ethosu("flash", "B", *words)
    assert code == 5 and "we2_local_image_gen project.json failed (exit code 3): no section" in err
