# SPDX-License-Identifier: MIT
"""Eleven checks for a new board, in the order in which problems usually appear.

They need only the serial port and the firmware, but no emulator and no files on the board. Each
check explains the usual cause of a failure.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.errors import (
    BoardError,
    BoardLinkError,
    BoardResetError,
    BoardTimeoutError,
    RemoteError,
    ToolError,
)
from ..boards import targets
from ..boards.facts import BoardFacts
from ..compile import vela
from ..model import ModelFile
from ..model.tflite.metadata import put
from ..sim import selftest
from .board import Board
from .board_code import encoded

OK, FAILED, NOT_RUN = "ok", "FAILED", "not run"
_LINE_BYTES = 1024
_CHUNK_BYTES = 3 * 1024
# A loop gets this time to start before it is interrupted, and this time to end after Ctrl-C.
_BEGIN_S = 0.2
_STOP_TIMEOUT_S = 2.0
_NPU_TIMEOUT_S = 60.0

# Pieces of Python that run on the board.
_STOP = """\
import ethosu, struct
_stop = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
with ethosu.reserve(timeout_ms=1000) as _npu:
    _npu.invoke(_stop, [], timeout_ms=1000)
    _answer = _npu.info()['config']
"""
# The NPU copies 1,024 bytes from one base pointer to another. A buffer of nearly all free memory
# includes both ends of the heap.
_MEMORY = """\
import ethosu, gc, struct, vfs
_words = (0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 1024, 0x10, 0x11, 0xFFFF0000)
_job = struct.pack('<4sIII11I', b'COP1', 5, 5, 2 | 11 << 16, *_words)
gc.collect()
_size, _all = gc.mem_free(), None
while _all is None:
    try:
        _all = ethosu.buffer(_size & ~1023)
    except MemoryError:
        _size = _size * 7 // 8
def _copies(source, target):
    expected = bytes(source)
    target[:] = bytes(1024)
    with ethosu.reserve(timeout_ms=1000) as npu:
        npu.invoke(_job, [source, target], timeout_ms=1000)
    return bytes(target) == expected
_first, _last, _wrong = _all[:1024], _all[-1024:], []
_first[:] = bytes(range(256)) * 4
if not _copies(_first, _last):
    _wrong.append('from the first bytes of the heap to the last')
_last[:] = bytes(reversed(range(256))) * 4
if not _copies(_last, _first):
    _wrong.append('from the last bytes of the heap to the first')
try:
    _rom = vfs.rom_ioctl(2, 0)
except OSError:
    _rom = None
_rom = memoryview(_rom) if isinstance(_rom, (bytes, bytearray, memoryview)) else memoryview(b'')
_end = len(_rom) & ~15
if _end >= 1024:
    if not _copies(_rom[:1024], _first):
        _wrong.append('from the first bytes of the ROM')
    if not _copies(_rom[_end - 1024:_end], _first):
        _wrong.append('from the last bytes of the ROM')
_answer = (len(_all), _end, _wrong)
_all = _first = _last = _rom = None
"""
_COPY = """\
import ethosu
try:
    import dma
except ImportError:
    dma = None
_wrong, _answer = [], (None, [])
if dma:
    _source, _target = ethosu.buffer(65536), ethosu.buffer(65536)
    _row = bytes(_at * 7 & 255 for _at in range(512))
    for _at in range(256):
        _source[_at * 256:_at * 256 + 256] = _row[_at:_at + 256]
    _before = dma.counters()
    for _to, _from, _count in ((0, 0, 65536), (32, 0, 4096), (0, 4, 8192), (3, 1, 5001)):
        _expected = bytes(_target[:_to]) + bytes(_source[_from:_from + _count])
        _expected += bytes(_target[_to + _count:])
        dma.copy(_target[_to:_to + _count], _source[_from:_from + _count])
        if _target != _expected:
            _wrong.append((_to, _from, _count))
    _after = dma.counters()
    _answer = ({key: _after[key] - _before[key] for key in _after}, _wrong)
    _source = _target = _expected = _row = None
"""
_ROM = """\
import os, uctypes, vfs
_count = vfs.rom_ioctl(1)
_part = vfs.rom_ioctl(2, 0) if _count > 0 else None
_at = uctypes.addressof(_part) if isinstance(_part, (bytes, bytearray, memoryview)) else _part
_answer = (_count, _at, os.listdir('/rom') if 'rom' in os.listdir('/') else None)
"""
_ROOT = """\
import os
_data = {data}
with open('/{name}', 'wb') as _file:
    _file.write(_data)
with open('/{name}', 'rb') as _file:
    _same = _file.read() == _data
os.remove('/{name}')
_stat = os.statvfs('/')
_answer = (_same, _stat[0] * _stat[3])
"""


_STACKS = """\
import machine
_answer = [n for stack in machine.stacks() for n in stack] if hasattr(machine, 'stacks') else []
"""
# Room for an interrupt's frame with all registers of the FPU, and as much again for its handler.
_STACK_MARGIN = 512


class CheckError(Exception):
    """A check failed; the text gives the finding and the expectation."""


@dataclass
class Bench:
    """The board under test; `facts` is the data to compare with, if any."""

    board: Board
    facts: BoardFacts | None
    npu: str = ""
    machine: str = ""  # name of the board in the firmware


@dataclass(frozen=True)
class Check:
    """One check; `run` returns its finding. `needs` names a check that must have passed.

    `advice` explains failures; its keys are patterns for the text of a failure.
    """

    name: str
    title: str
    advice: Mapping[str, str]
    run: Callable[[Bench], str]
    needs: str = "prompt"


@dataclass(frozen=True)
class Outcome:
    """Result of a check."""

    check: Check
    state: str
    found: str

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, for JSON."""
        data = {"name": self.check.name, "title": self.check.title}
        data |= {"state": self.state, "found": self.found}
        if self.state == FAILED:  # all advice if no pattern matches
            advice = self.check.advice
            fits = [text for pattern, text in advice.items() if re.search(pattern, self.found)]
            data["meaning"] = fits[0] if fits else " ".join(advice.values())
        return data


def _expect(right: bool, problem: str) -> None:
    if not right:
        raise CheckError(problem)


def _prompt(bench: Bench) -> str:
    sent = os.urandom(_LINE_BYTES)
    machine, version, echo = bench.board.ask(
        "import os, sys\n"
        f"_answer = (os.uname().machine, '.'.join(map(str, sys.implementation[1])), "
        f"{encoded(sent)})",
        kind=(str, str, bytes),
    )
    _expect(echo == sent, f"{_LINE_BYTES} bytes came back changed")
    bench.machine = machine.partition(" with ")[0]
    return f"MicroPython {version.rstrip('.')} on {machine}"


def _npu(bench: Bench) -> str:
    npus = bench.board.ask("import ethosu\n_answer = ethosu.npus()", kind=list)
    _expect(bool(npus), "ethosu.npus() is empty")
    if not all(npu in targets.NPUS for npu in npus):
        raise BoardError(
            f"ethosu.npus() is {npus!r:.100}, expected names such as {targets.NPUS[0]}"
        )
    bench.npu = npus[0]
    facts = bench.facts
    if facts:
        others = targets.npus_of(facts)[len(facts.npus) :]  # those that only the emulator has
        _expect(
            npus[0] in (facts.npus[0], *others),
            f"this is the firmware of {bench.machine}: the NPU is {npus[0]}, the board.toml of "
            f"{facts.name} expects {facts.npus[0]}",
        )
    return ", ".join(npus)


def _interrupt(bench: Bench) -> str:
    bench.board.ask(_STOP, timeout=_NPU_TIMEOUT_S)
    return "the NPU ran an empty command stream"


def _memory(bench: Bench) -> str:
    heap, rom, wrong = bench.board.ask(_MEMORY, kind=(int, int, list), timeout=_NPU_TIMEOUT_S)
    _expect(not wrong, f"wrong data after the NPU copied {', '.join(map(str, wrong))}")
    of_rom = f" and of {rom:,} bytes of ROM" if rom else ""
    return f"both ends of {heap:,} bytes of heap{of_rom}"


def _selftest(bench: Bench) -> str:
    from ..model import make_model  # needs LiteRT, which `ethosu doctor` reports as missing

    source = ModelFile(make_model.small_cnn(), name="small_cnn.tflite")
    compiled = vela.compiled(source, bench.npu).file
    data = put(compiled.data, {selftest.NAME: selftest.make(source)})
    board = bench.board
    board.ask("_model = bytearray()")
    for at in range(0, len(data), _CHUNK_BYTES):
        board.exchange(data[at : at + _CHUNK_BYTES], "lambda data: _model.extend(data) or b''")
    passed = board.ask(
        "import ethosu\nwith ethosu.Model(_model) as _loaded:\n _answer = _loaded.selftest()\n"
        "_model = None",
        timeout=_NPU_TIMEOUT_S,
    )
    _expect(passed is True, f"selftest() returned {passed!r}")
    return f"a model of {len(data):,} bytes is bit-exact with TFLite's reference kernels"


def _copy(bench: Bench) -> str:
    counted, wrong = bench.board.ask(_COPY, kind=(dict | None, list), timeout=_NPU_TIMEOUT_S)
    if counted is None:
        return "no module dma: the CPU copies tensors"
    _expect(not wrong, f"wrong copies (target offset, source offset, bytes): {wrong}")
    bad = {name: counted[name] for name in ("errors", "timeouts") if counted.get(name)}
    _expect(not bad, f"the CPU had to repeat copies: {bad}")
    if not counted.get("transfers"):
        return "correct, but all copies by the CPU: the controller is off or missing"
    by_cpu = counted.get("cpu_copies")
    return f"{counted['transfers']} copies by the controller, {by_cpu} by the CPU"


def _rom(bench: Bench) -> str:
    count, address, names = bench.board.ask(_ROM, kind=(int, object, list | None))
    _expect(count > 0, "the firmware has no ROM file system")
    _expect(
        not isinstance(address, int) or address >= 0,
        f"the memory of /rom does not answer: rom_ioctl(2, 0) is {address}",
    )
    if bench.facts and isinstance(address, int):
        expected = bench.facts.romfs.start
        _expect(
            address == expected,
            f"this is the firmware of {bench.machine}: /rom is at {address:#x}, the board.toml of "
            f"{bench.facts.name} expects {expected:#x}",
        )
    if names is None:
        return "empty: deploy files to it"
    return f"{len(names)} file{'' if len(names) == 1 else 's'} in /rom"


def _root(bench: Bench) -> str:
    data = os.urandom(_LINE_BYTES)
    code = _ROOT.format(name=f"bringup_{os.urandom(4).hex()}", data=encoded(data))
    same, free = bench.board.ask(code, kind=(bool, int))
    _expect(same, "a file was read back with different content")
    return f"{free:,} bytes free"


def _stacks(bench: Bench) -> str:
    answer = bench.board.ask(_STACKS, kind=list)
    if not answer:
        return "this firmware does not measure its stacks"
    if len(answer) != 4 or not all(isinstance(number, int) for number in answer):
        raise CheckError(f"machine.stacks() returned {answer}, expected four numbers")
    texts = []
    for name, used, size in (("main stack", *answer[:2]), ("interrupts' stack", *answer[2:])):
        texts.append(f"{used:,} of {size:,} bytes of the {name} used")
        free = used + _STACK_MARGIN <= size
        _expect(free, f"{texts[-1]}, expected {_STACK_MARGIN} bytes that are not")
    return ", ".join(texts)


def _ctrl_c(bench: Bench) -> str:
    begun = bytearray()

    def stop(output: bytes) -> None:
        """Type Ctrl-C once, when the program runs; earlier, the prompt would receive it."""
        if not begun:
            begun.extend(output)
            time.sleep(_BEGIN_S)
            bench.board.inject(b"\x03")

    bench.board.start("print('begun')\nwhile True: pass")
    try:
        bench.board.finish(timeout=_STOP_TIMEOUT_S, on_output=stop)
    except RemoteError as error:
        _expect(error.kind == "KeyboardInterrupt", f"the loop ended with {error.kind}")
        return "an endless loop was stopped"
    raise CheckError("an endless loop ended by itself")


def _reset(bench: Bench) -> str:
    board = bench.board
    board.exec("_before_reset = True")
    board.reset()
    same, cause, expected = bench.board.ask(
        "import machine\n"
        "_answer = ('_before_reset' in globals(), machine.reset_cause(), machine.HARD_RESET)",
        kind=(bool, int, int),
    )
    _expect(not same, "machine.reset() had no effect")
    _expect(
        cause == expected, f"reset_cause() is {cause} after machine.reset(), expected {expected}"
    )
    return "machine.reset() restarted the board, and reset_cause() reports it"


CHECKS = (
    Check(
        "prompt",
        "the prompt answers, and no bytes are lost on the line",
        {
            r"\*\*\* Fault": "The firmware starts, but faults before its prompt. The report gives "
            "the address and the location in the code. Forbidden access: the address is in no row "
            "of `memories` in board.toml, or its row does not allow the access (`cpu`). Bus error: "
            "nothing is at this address, or its clock or power is off; check board_init().",
            r"\*\*\* Fatal": "The firmware starts, but stops before its prompt: in board.toml, "
            "`memories` contradicts `heap`, `romfs`, `ramdisk` or `disk`. The message names the "
            "symbol in memory.ld.",
            "sent: only what was typed": "No board is at this port: the adapter's TX and RX are "
            "connected to each other.",
            "sent: nothing": "The image is not where the chip starts, the pins, clock or baud rate "
            "of the UART are wrong, or this is the wrong port.",
            "sent: ": "Unreadable characters: the UART's clock is not the one that the divisor was "
            "computed for, or the baud rate differs (`baud`). Readable text: another program is "
            "running, or the UART does not receive.",
            "came back changed|damaged": "Bytes are lost: the receive interrupt comes too late or "
            "has too low a priority.",
            "cannot be opened|in use|is not a port": "The board could not be reached.",
        },
        _prompt,
        needs="",
    ),
    Check(
        "npu",
        "the NPU answers, and is the expected one",
        {
            "is empty": "Its clock or power is off, its reset is held, or its address is wrong; "
            "check board_init() and `npu_registers` in board.toml.",
            "the NPU is": "If this is not the board given by --board, correct that option. "
            "Otherwise it is the NPU of another core or another chip; check `npus` and "
            "`npu_registers` in board.toml.",
        },
        _npu,
    ),
    Check(
        "interrupt",
        "the NPU's interrupt arrives",
        {
            "no interrupt came": "In board.toml, its number in `npu_registers` is wrong or "
            "`interrupts` is too small, or VECTORS is not aligned.",
            "took longer": "The NPU is still running: it has no clock, or a bus does not respond.",
            "can't see": "The heap is in memory that the NPU cannot access: move `heap` in "
            "board.toml, or correct `masters` in the row of that memory.",
            "bus error": "The NPU cannot read its commands from the heap; in board.toml, check "
            "`masters`, `npu_address` and `port` in the row of that memory, and `secure` and "
            "`privileged` in `npu_registers`.",
        },
        _interrupt,
        "npu",
    ),
    Check(
        "memory",
        "the NPU reads and writes memory, at both ends",
        {
            "bus error": "The NPU cannot access that memory (`masters`), sees it at another "
            "address (`npu_address`), or a protection controller blocks it (`secure`, "
            "`privileged`).",
            "wrong data": "The CPU caches that memory differently than `cache` in its row of "
            "board.toml specifies.",
        },
        _memory,
        "interrupt",
    ),
    Check(
        "selftest",
        "a model computes exactly",
        {
            "": "Copies are correct but results are not. Possible causes: memory that is too slow "
            "for the NPU's clock, AXI settings, the supply voltage, or a cache line that NPU and "
            "CPU share.",
        },
        _selftest,
        "memory",
    ),
    Check(
        "copy",
        "the DMA controller copies exactly",
        {
            "'errors'": "The controller has no clock, is not secure, or cannot access a memory of "
            "the test. The firmware still works, because the CPU repeats failed copies.",
            "'timeouts'": "Its interrupt does not arrive; check [dma] in board.toml. The firmware "
            "still works, because the CPU repeats failed copies.",
            "wrong copies": "The caches are not cleaned or invalidated for it; check `cache` in "
            "board.toml.",
        },
        _copy,
    ),
    Check(
        "rom",
        "the ROM file system exists",
        {
            "does not answer": "Its memory is not mapped, not powered, or not set up: the start-up "
            "found something else there, or a read faults.",
            "": "`romfs` in board.toml is wrong, or its memory is not mapped or not powered.",
        },
        _rom,
    ),
    Check(
        "root",
        "files can be written to /",
        {
            "": "The flash of / cannot be written, or the memory of the RAM disk has no power.",
        },
        _root,
    ),
    Check(
        "stacks",
        "the stacks are large enough",
        {
            "main stack": "The C functions of this firmware need more below MicroPython's own "
            "limit, or the limit is wrong: set STACK_SIZE in the board's memory.ld.",
            "interrupts' stack": "The handlers of this board need more: set HANDLER_STACK_SIZE in "
            "the board's memory.ld.",
        },
        _stacks,
    ),
    Check(
        "ctrl-c",
        "Ctrl-C stops a program",
        {
            "": "The UART's receive interrupt has too low a priority or is off while Python runs.",
        },
        _ctrl_c,
    ),
    Check(
        "reset",
        "machine.reset() restarts the board, and its cause is recorded",
        {
            r"reset_cause\(\)": "The chip's boot code clears the memory in which the firmware "
            "stores the cause (the region with .noinit).",
            "": "The chip's boot code does not restart the image.",
        },
        _reset,
    ),
)


def run(connect: Callable[[], Board], facts: BoardFacts | None = None) -> Iterator[Outcome]:
    """Yield the outcome of each check as soon as it is available; closes the board at the end."""
    passed: set[str] = set()
    bench = None
    gone = ""
    try:
        for check in CHECKS:
            if gone or (check.needs and check.needs not in passed):
                yield Outcome(check, NOT_RUN, gone or f"it needs {check.needs}")
                continue
            try:
                bench = bench or Bench(connect(), facts)
                yield Outcome(check, OK, check.run(bench))
                passed.add(check.name)
            except (BoardError, CheckError) as error:
                yield Outcome(check, FAILED, str(error))
                gone = _settle(bench, error)
            except ToolError as error:  # this computer has a problem, not the board
                yield Outcome(check, NOT_RUN, str(error))
    finally:
        if bench:
            bench.board.close()


def _settle(bench: Bench | None, error: Exception) -> str:
    """Return to the prompt after a failure; returns the reason if no more checks can run."""
    if bench is None:
        return "it needs prompt"
    if isinstance(error, BoardResetError | BoardTimeoutError | BoardLinkError):
        try:
            bench.board.interrupt()
        except BoardError:
            return "the board no longer answers"
    return ""
