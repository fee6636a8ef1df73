# SPDX-License-Identifier: MIT
"""Tests flashing by serial line, with a boot loader that uses the library's receiver."""

import io
import logging
import os
import re
import select

import pytest
from ethosu_tools.commands import flash
from ethosu_tools.link.flash import serial_line
from ethosu_tools.model import romfs
from xmodem import XMODEM

from host_tests.kit.stand_ins import Terminal

from . import IMAGE, SECTIONS, elf, himax_image

BY_LINE = "--way", "xmodem", "--port"
QUIET = logging.Logger("boot loader")
QUIET.addHandler(logging.NullHandler())


class BootLoader(Terminal):
    """A boot loader, which receives an image with the library's receiver.

    It damages the blocks with numbers in `damaged`, and falls silent after `silent_after`.
    """

    def __init__(self, damaged=(), silent_after=None):
        self.damaged, self.silent_after = set(damaged), silent_after
        self.blocks, self.image, self.ended = 0, io.BytesIO(), False
        self.more = []
        super().__init__()

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

    def serve(self):
        self._put(b"1st BL Modem\r\nPlease input any key to enter X-Modem mode in 100 ms\r\n")
        self._wait_for(b"1")
        self._put(b"[0] Reboot system\r\n[1] Xmodem download and burn FW image\r\n")
        self._wait_for(b"1")
        self._put(b"Send data using the xmodem protocol from your terminal\r\n")
        modem = XMODEM(self._get, self._put)
        modem.log = QUIET
        modem.recv(self.image, retry=1000, timeout=1, quiet=True)
        while self._asks_for_more():
            self._put(b"Send data using the xmodem protocol from your terminal\r\n")
            data = io.BytesIO()
            modem.recv(data, retry=1000, timeout=1, quiet=True)
            self.more.append(data.getvalue())
        self.ended = True

    def _asks_for_more(self):
        self._put(b"Do you want to end file transmission and reboot system? (y)\r\n")
        key = None
        while not self.closing.is_set() and key not in (b"y", b"n"):
            key = self._get(1)
        return key == b"n"


@pytest.fixture
def we2_tool(tree, tmp_path, bin_folder):
    """Folder of a fake image tool, which makes an image of the sections of `firmware`."""
    (tree / "build/firmware/B/firmware.elf").write_bytes(elf())
    folder = tmp_path / "we2"
    (tmp_path / "made.img").write_bytes(himax_image())
    text = (
        "assert sys.argv[1:] == ['project.json']\n"
        "assert pathlib.Path('in/firmware.elf').read_bytes()[:4] == b'\\x7fELF'\n"
        f"made = pathlib.Path({str(tmp_path / 'made.img')!r}).read_bytes()\n"
        "pathlib.Path('out/output.img').write_bytes(made)\n"
    )
    for name in ("in", "out"):
        (folder / name).mkdir(parents=True)
    bin_folder("we2_local_image_gen", text, folder)
    return folder


@pytest.mark.parametrize("damaged", [(), (1, 4, 5)])
def test_a_boot_loader_gets_the_whole_image_over_a_bad_line(flashed, tree, we2_tool, damaged):
    with BootLoader(damaged) as loader:
        data = flashed(*BY_LINE, loader.port, "--tools", we2_tool)
        loader.thread.join(timeout=10)
    expected = himax_image()
    assert loader.image.getvalue() == expected.ljust(-(-len(expected) // 128) * 128, b"\x1a")
    assert loader.ended and data["bytes"] == len(expected)
    assert data["jump_address"] == 0x10000000
    assert bool(data["sent_again"]) == bool(damaged)


@pytest.mark.parametrize(("damaged", "rom"), [((), "a.txt"), ((3, 44), "a.txt"), ((), "rom.img")])
def test_the_rom_follows_the_image_with_its_place_in_the_flash(
    flashed, tree, tmp_path, damaged, rom
):
    """The ROM file system follows the image, after a block as in Himax's xmodem_send.py.

    A finished image is sent unchanged.
    """
    toml = tree / "boards/B/board.toml"
    toml.write_text(toml.read_text().replace("0x1000, size = 0x1000", "0x3A234500, size = 0x1000"))
    (tmp_path / "output.img").write_bytes(IMAGE)
    (tmp_path / "a.txt").write_bytes(b"text" * 100)
    expected = romfs.build({"a.txt": b"text" * 100})
    (tmp_path / "rom.img").write_bytes(expected)
    with BootLoader(damaged) as loader:
        data = flashed(
            *BY_LINE, loader.port, "--firmware", tmp_path / "output.img", "--rom", tmp_path / rom
        )
        loader.thread.join(timeout=20)
    place, sent = loader.more
    assert place == bytes.fromhex("c05a 00452300 00000000 5ac0") + b"\xff" * 116
    assert sent == expected.ljust(-(-len(expected) // 128) * 128, b"\x1a")
    assert loader.image.getvalue() == IMAGE and loader.ended
    assert (data["rom_bytes"], data["bytes"]) == (len(expected), len(IMAGE))
    assert bool(data["sent_again"]) == bool(damaged)


def test_a_rom_that_does_not_fit_is_refused(ethosu, tree, tmp_path):
    (tmp_path / "a.txt").write_bytes(bytes(0x1000))
    code, _, err = ethosu("flash", "B", *BY_LINE, "PORT", "--rom", tmp_path / "a.txt")
    assert (code, err.count("\n")) == (3, 1)
    assert "the image of /rom has 4,1" in err and "B has room for 4,096" in err


def test_a_model_that_the_board_cannot_run_is_refused(fails, compiled, small_models):
    model = small_models["small_cnn"]
    for file, problem in (
        (model, "was never compiled for an NPU"),
        (compiled(model, "ethos-u85-256"), "it is compiled for ethos-u85-256, but"),
    ):
        err = fails("flash", "GROVE_VISION_AI_V2", "--dry-run", "--rom", file, code=3, said=problem)
        how = f"ethosu deploy {file} --force -o IMAGE"
        assert err.rstrip().endswith(
            f"To send it all the same, make an image with `{how}`, and pass --rom IMAGE"
        )


def test_commands_on_the_pages_send_compiled_models(repo):
    """Pages send compiled models, such as kws_vela.tflite, because sources are refused."""
    page = (repo / "boards/GROVE_VISION_AI_V2/README.md").read_text()
    for text in (page, flash.EPILOG):
        files = re.findall(r"ethosu flash .*--rom (\S+\.tflite)", text)
        assert files == ["kws_vela.tflite"]
        assert "ethosu compile kws.tflite --board GROVE_VISION_AI_V2\n" in text


def test_a_way_that_does_not_send_the_rom_says_what_does(fails, tree, tmp_path):
    words = "--way", "pyocd", "--rom", tmp_path
    fails("flash", "B", *words, code=2, said=("does not get /rom by pyocd", "ethosu deploy"))


def test_a_boot_loader_that_never_answers_is_one_error(ethosu, tree, we2_tool, monkeypatch):
    monkeypatch.setattr(serial_line, "BOOT_TIMEOUT_S", 0.5)
    with Terminal() as silent:
        code, _, err = ethosu("flash", "B", *BY_LINE, silent.port, "--tools", we2_tool)
    assert (code, err.count("\n")) == (5, 1)
    assert "did not send 'Send data using the xmodem protocol' within 0.5 s" in err


def test_a_boot_loader_that_falls_silent_is_one_error(ethosu, tree, we2_tool, monkeypatch):
    monkeypatch.setattr(serial_line, "BLOCK_TIMEOUT_S", 0.3)
    monkeypatch.setattr(serial_line, "TRIES", 2)
    with BootLoader(silent_after=3) as loader:
        code, _, err = ethosu("flash", "B", *BY_LINE, loader.port, "--tools", we2_tool)
    assert (code, err.count("\n")) == (5, 1)
    assert "accepted 3 of 43 blocks" in err


def test_the_message_of_a_failing_image_tool_is_shown(fails, tree, we2_tool, bin_folder):
    bin_folder("we2_local_image_gen", "print('no section .table'); sys.exit(3)", we2_tool)
    said = "we2_local_image_gen failed (exit code 3): no section"
    fails("flash", "B", *BY_LINE, "PORT", "--tools", we2_tool, code=5, said=said)


FORMER = ((".startup", 0x10000800, b"code" * 9), *SECTIONS)


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (himax_image(FORMER), "would jump to 0x10000800, which is no vector table"),
        (himax_image(jump=0x20000000), "would jump to 0x20000000, where the image has nothing"),
        (himax_image(SECTIONS[:1]), "lacks section .text of the firmware, 36 bytes at 0x3404d000"),
    ],
)
def test_an_image_that_would_not_start_is_refused(fails, we2_tool, tmp_path, made, problem):
    """An image that would not start is refused before the port is opened."""
    (tmp_path / "made.img").write_bytes(made)
    said = problem, "output.img"
    fails("flash", "B", *BY_LINE, "PORT", "--tools", we2_tool, code=3, said=said)


def test_a_section_without_bytes_is_refused(ethosu, tree, we2_tool):
    wrong = elf((*SECTIONS, (".data", 0x30000000, b"")))
    (tree / "build/firmware/B/firmware.elf").write_bytes(wrong)
    code, _, err = ethosu("flash", "B", *BY_LINE, "PORT", "--tools", we2_tool)
    assert code == 3 and "section .data of the firmware is loaded, but empty" in err


def test_a_finished_image_that_would_not_start_is_refused(fails, tree, tmp_path):
    image = tmp_path / "output.img"
    image.write_bytes(himax_image(FORMER))
    fails("flash", "B", *BY_LINE, "PORT", "--firmware", image, code=3, said="no vector table")


def test_an_image_of_an_unknown_layout_is_sent_with_a_warning(ethosu, tree, tmp_path):
    image = tmp_path / "output.img"
    image.write_bytes(IMAGE)
    with BootLoader() as loader:
        code, _, err = ethosu("flash", "B", *BY_LINE, loader.port, "--firmware", image)
    assert code == 0 and "unknown layout and was not checked" in err
