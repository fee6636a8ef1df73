# SPDX-License-Identifier: MIT
"""Flashes by serial line: Himax's tool makes an image, the boot loader receives it by XMODEM.

The image is read first as the boot loader reads it, and refused if it would not start. The ROM file
system follows in a second transfer, after one block that says where in the flash it belongs.

Settings: `baud`; `largest`, the maximum size of an image in bytes; `project`, `input` and `output`,
files in the folder of the tool. Source: README and xmodem_send.py of HimaxWiseEyePlus/
Seeed_Grove_Vision_AI_Module_V2. Never tested on a chip. A guess: one key opens the boot loader's
menu and the next one selects XMODEM, so the key can be sent repeatedly until the prompt appears.
"""

import contextlib
import io
import logging
import platform
import shutil
import struct
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from xmodem import XMODEM

from ...base.deadline import Deadline
from ...base.errors import BoardError, BoardLinkError, BoardTimeoutError, InputError
from ..port import open_port
from . import himax_image
from .common import Request, Step, Tool, Way, named_folder, read_image, run_tool, tool_folder

VARIABLE = "ETHOSU_WE2_TOOL"
MISSING = (
    "Himax's tool we2_local_image_gen is needed: clone "
    "https://github.com/HimaxWiseEyePlus/Seeed_Grove_Vision_AI_Module_V2 and pass its folder "
    f'we2_image_gen_local/ with --tools or {VARIABLE}; see "Build the firmware" in its README'
)
_TOOLS = {"Darwin": "we2_local_image_gen_macOS_arm64", "Windows": "we2_local_image_gen.exe"}

# Prompts of the boot loader and the replies. The key also selects XMODEM in its menu.
READY = b"Send data using the xmodem protocol"
END = b"end file transmission and reboot system"
_START = b"C\x15"  # a receiver repeats these until the first block arrives
_KEY, _YES, _NO = b"1\r", b"y\r", b"n\r"

# The user has to press the reset button within this time. Meanwhile the key is sent at this
# interval, because the boot loader waits for only 100 ms.
BOOT_TIMEOUT_S = 60.0
_KEY_S = 0.05
# The boot loader may erase flash before it answers.
BLOCK_TIMEOUT_S = 10.0
TRIES = 10
_END_TIMEOUT_S = 30.0
_BLOCK_BYTES = 128
# The block that precedes data other than an image: the place in flash, the first byte's offset.
_PLACE = struct.Struct("<2sII2s")
_PLACE_START, _PLACE_END = b"\xc0\x5a", b"\x5a\xc0"
# The last bytes of the board's output, for a message.
_SHOWN_BYTES = 80


class _Line:
    """The open port; all waits are bounded."""

    def __init__(self, port: str, baudrate: int) -> None:
        self._name = port
        self._done = 0
        self.sent_again = 0  # number of blocks
        self._port = open_port(port, baudrate, timeout=_KEY_S, write_timeout=BLOCK_TIMEOUT_S)
        self.close = self._port.close

    def wait_for(self, text: bytes, seconds: float, typed: bytes = b"") -> None:
        """Read until `text` arrives; meanwhile `typed` is sent repeatedly."""
        received, deadline = b"", Deadline(seconds)
        while text not in received:
            if deadline.expired():
                end = received[-_SHOWN_BYTES:].decode(errors="replace")
                raise BoardTimeoutError(
                    f"the boot loader at {self._name} did not send {text.decode()!r} within "
                    f"{seconds:g} s; " + (f"received {end!r}" if received else "received nothing")
                )
            if typed:
                self.type(typed)
            received += self._read(max(1, self._port.in_waiting))
            received = received[-(1 << 16) :]

    def settle(self) -> None:
        """Read until the board is silent, so that the next byte is a reply."""
        deadline = Deadline(BLOCK_TIMEOUT_S)
        while not deadline.expired() and self._read(4096).strip(_START):
            pass

    def wait_for_receiver(self) -> None:
        """Read until the board sends nothing but requests to begin."""
        deadline = Deadline(BLOCK_TIMEOUT_S)
        while not deadline.expired():
            received = self._read(4096)
            if received and not received.strip(_START):
                return
        raise BoardTimeoutError(
            f"the boot loader at {self._name} did not ask for the ROM file system within "
            f"{BLOCK_TIMEOUT_S:g} s"
        )

    def send(self, data: bytes, request: Request, what: str) -> None:
        """Send data by XMODEM; raises BoardError if the board does not accept it."""
        self._done = 0
        modem = XMODEM(self._get, self._put)
        modem.log = _SILENT
        blocks = -(-len(data) // _BLOCK_BYTES)
        with request.ui.progress(f"sending {what} to {self._name}") as progress:

            def count(sent: int, taken: int, errors: int) -> None:
                self.sent_again += taken > self._done and errors > 0
                self._done = taken
                progress(taken, blocks)

            if not modem.send(
                io.BytesIO(data), retry=TRIES, timeout=BLOCK_TIMEOUT_S, quiet=True, callback=count
            ):
                raise BoardError(
                    f"the boot loader at {self._name} accepted {self._done} of {blocks} blocks "
                    f"of {what}, then rejected one or did not reply ({TRIES} attempts)"
                )

    def _get(self, size: int, timeout: float = 1) -> bytes | None:
        data, deadline = b"", Deadline(timeout)
        while len(data) < size and not deadline.expired():
            data += self._read(size - len(data))
        return data or None

    def _put(self, data: bytes, timeout: float = 1) -> int:
        self.type(bytes(data))
        return len(data)

    def _read(self, size: int) -> bytes:
        try:
            return bytes(self._port.read(size))
        except OSError as error:
            raise BoardLinkError(f"the link to {self._name} broke: {error}") from error

    def type(self, data: bytes) -> None:
        """Send bytes as they are."""
        try:
            self._port.write(data)
        except OSError as error:
            raise BoardLinkError(f"writing to {self._name} failed: {error}") from error


# Without a handler, Python prints a warning for each damaged block.
_SILENT = logging.Logger("ethosu.xmodem")
_SILENT.addHandler(logging.NullHandler())


def send_image(request: Request, settings: Mapping[str, Any], data: bytes) -> dict[str, Any]:
    """Send an image to the boot loader, and a ROM file system: menu, XMODEM, reboot."""
    with contextlib.closing(_Line(request.needs_port(), settings["baud"])) as line:
        request.ui.note("press the board's reset button")
        line.wait_for(READY, BOOT_TIMEOUT_S, typed=_KEY)
        line.settle()
        line.send(data, request, "the image")
        line.wait_for(END, _END_TIMEOUT_S)
        if request.rom is not None:
            for part, what in ((_place(request), "a block"), (request.rom, "the ROM file system")):
                line.type(_NO)
                line.wait_for_receiver()
                line.send(part, request, what)
                line.wait_for(END, _END_TIMEOUT_S)
        line.type(_YES)
        time.sleep(_KEY_S)
    rom = {} if request.rom is None else {"rom_bytes": len(request.rom)}
    return {"bytes": len(data), "sent_again": line.sent_again} | rom


def _place(request: Request) -> bytes:
    """Encode the block that tells the boot loader where to write the following data."""
    place = request.board.romfs.start - himax_image.FLASH
    block = _PLACE.pack(_PLACE_START, place, 0, _PLACE_END)
    return block.ljust(_BLOCK_BYTES, b"\xff")


def check(request: Request, path: Path, image: bytes, elf: bytes | None) -> dict[str, Any]:
    """Return where the boot loader would jump; InputError if the board would stay silent.

    An image with an unknown layout is sent with a warning, since a newer tool may have made it.
    """
    try:
        return {"jump_address": himax_image.check(image, elf)}
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    except ValueError as error:
        request.ui.warn(f"{path} has an unknown layout and was not checked: {error}")
        return {}


def _tool() -> str:
    """Return the name of Himax's program on this system."""
    return _TOOLS.get(platform.system(), "we2_local_image_gen")


_ROM_STEPS = "answer n, send the block with the place of the ROM file system, answer n, send that, "


def steps(request: Request, settings: Mapping[str, Any]) -> list[Step]:
    """Make the image, unless --firmware is already one, and send it."""
    is_image = request.firmware.suffix not in ("", ".elf")
    tool = _tool()
    shown = named_folder(request.tools, VARIABLE) or Path("TOOL")

    def make() -> None:
        folder = tool_folder(request.tools, VARIABLE, tool, MISSING)
        request.needs_port()
        read_image(request.firmware)
        (folder / settings["output"]).unlink(missing_ok=True)
        shutil.copyfile(request.firmware, folder / settings["input"])
        run_tool([folder / tool, settings["project"]], request.ui, folder)

    def send() -> Mapping[str, Any]:
        image = request.firmware
        if not is_image:
            image = tool_folder(request.tools, VARIABLE, tool, MISSING) / settings["output"]
        data = read_image(image, settings["largest"])
        checked = check(request, image, data, None if is_image else read_image(request.firmware))
        return send_image(request, settings, data) | checked

    making = Step(
        f"cp {request.firmware} {shown / settings['input']}; cd {shown}; "
        f"./{tool} {settings['project']}",
        make,
    )
    sending = Step(
        f"check where the boot loader will jump; press reset; at {request.port or 'PORT'}, "
        f"{settings['baud']} baud: type 1 until the boot "
        f'loader prints "{READY.decode()}", send '
        f"{request.firmware if is_image else shown / settings['output']} by XMODEM, "
        f"{_ROM_STEPS if request.rom is not None else ''}answer y",
        send,
    )
    return [sending] if is_image else [making, sending]


WAY = Way(
    "xmodem",
    "sent to the chip's boot loader over the serial line, by XMODEM",
    steps,
    frozenset({"baud", "largest", "project", "input", "output"}),
    rom="sent",
    tools=(
        Tool(
            "Himax's tool", lambda _: str(tool_folder(None, VARIABLE, _tool(), MISSING) / _tool())
        ),
    ),
    options="--port PORT --tools FOLDER",
)
