# SPDX-License-Identifier: MIT
"""Injects each fault at a random moment of each use; the next result must be exact, without leaks.

Each round depends only on the seed and its number, and the emulated board's time follows its
instructions: a block of rounds, run from its first one, repeats to the instruction.
"""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from dataclasses import dataclass

from ethosu_tools.base.errors import BoardError, BoardResetError, BoardTimeoutError, RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from ..common import FoundError
from .common import NPUS, Level, turn_of
from .models import rom_image

# Number of rounds in a block, which begins with a soft reset.
BLOCK = 25
# Number of heap bytes that a block of rounds may lose.
MISSING = 4096
SILENCE_S = 20.0
TRIES = 5

# Uses of the NPU in a round: functions of faults_on_board.py.
USES = (
    "predict",
    "predict_with_functions",
    "run_in_place",
    "run_into",
    "asynchronous",
    "two_npus",
    "second_npu",
    "streaming",
    "mixed_graph",
    "invoke",
    "invoke_async",
    "await_payload",
    "reservation",
    "load",
    "forgotten",
    "deploy",
)
# This NPU's board has a ROM that is not RAM: its memory can reject a step, or lose power.
NVM_NPU, NVM_BOARD = "ethos-u55-256", "ALIF_ENSEMBLE_E7-M55_HP"
ALL_NPUS = (*NPUS, NVM_NPU)
# Steps of a deploy: lines of MRAM, of the image and its move.
DEPLOY_STEPS = 9_000
ON_SECOND = ("two_npus", "second_npu")

LATE, BROKEN, BUSY, CANCELED, RELEASED = (f"OSError {errno}" for errno in (110, 5, 16, 125, 1))
CTRL_C = "KeyboardInterrupt "
CLOSED = "ValueError this model was closed by deinit()"


@dataclass(frozen=True)
class Fault:
    """A fault, and the acceptable ends of a use other than the right result."""

    name: str  # the emulator's; "board.call" is followed by a space and the function to call
    ends: tuple[str, ...] = ()
    most: int = 1  # most occurrences
    restarts: bool = False
    soft_reset: bool = False  # immediately afterwards
    uses: tuple[str, ...] = USES

    def suits(self, npu: str, use: str) -> bool:
        """Whether this NPU supports the fault, and this use can be tested with it."""
        if use == "deploy" and not (self.restarts or self.soft_reset):
            return False  # the program goes on without models
        has = self.name != "npu.branch-error" or "u85" in npu
        return use in self.uses and use in uses_of(npu) and has


def uses_of(npu: str) -> list[str]:
    """Return the uses of a board with this NPU and a second one."""
    return [use for use in USES if use not in (ON_SECOND if npu == NVM_NPU else ("deploy",))]


# Acceptable ends of a use, besides the right result, by what happened to its NPU.
NPU_FAULTS = {
    **dict.fromkeys(("irq-lost", "irq-late", "hang"), (LATE,)),
    **dict.fromkeys(
        ("bus-error", "parse-error", "watchdog", "ecc-error", "branch-error"), (BROKEN,)
    ),
    **dict.fromkeys(("power-refused", "reset-stuck", "prot-stuck"), (BROKEN,)),
    **dict.fromkeys(("irq-spurious", "power-lost", "reset-slow"), ()),
    "dead": (LATE, BROKEN),  # running or not
}
FAULTS = (
    *(Fault(f"npu.{name}", ends, 3) for name, ends in NPU_FAULTS.items()),
    *(
        Fault(f"npu1.{name}", ends, 3, uses=ON_SECOND)
        for name, ends in NPU_FAULTS.items()
        if name != "branch-error"
    ),
    *(Fault(f"dma.{name}", most=3) for name in ("bus-error", "abort", "irq-lost", "hang")),
    Fault("console.interrupt", (CTRL_C,), 3),
    Fault("console.interrupt then", (CTRL_C,), soft_reset=True),
    Fault("console.noise", (CTRL_C,), 40),
    Fault("console.lost", most=3),
    Fault("board.reset", restarts=True),
    Fault("board.power-loss", restarts=True),
    *(Fault(f"board.call {name}") for name in ("collect", "allocate", "fail", "reserve")),
    *(Fault(f"board.call {name}") for name in ("nested", "nested_load")),
    Fault("board.call keep", (BUSY, LATE)),
    Fault("board.call release", (CANCELED, RELEASED)),
    Fault("board.call cancel", (CANCELED,)),
    Fault("board.call deinit", (CANCELED, CLOSED)),
    Fault("board.call reset", restarts=True),
    Fault("nvm.fail", (BROKEN,), DEPLOY_STEPS, soft_reset=True, uses=("deploy",)),
    Fault("nvm.cut", most=DEPLOY_STEPS, restarts=True, uses=("deploy",)),
)


@dataclass(frozen=True)
class Round:
    """The parameters of one round."""

    number: int
    use: str
    faults: tuple[tuple[Fault, int, int], ...]  # count, nanoseconds from the start

    def __str__(self) -> str:
        said = ", ".join(f"{fault.name}:{count}@{after}" for fault, count, after in self.faults)
        return f"round {self.number}: {self.use} with {said}"

    def allows(self, result: str) -> bool:
        """Whether a use may end like this."""
        if result == "restarted":
            return any(fault.restarts for fault, _, _ in self.faults)
        ends = [end for fault, _, _ in self.faults for end in fault.ends]
        return result == "right" or result.startswith(tuple(ends))


def drawable(npu: str) -> list[Fault]:
    """Return the faults that this NPU supports."""
    return [fault for fault in FAULTS if any(fault.suits(npu, use) for use in USES)]


def draw(seed: int, npu: str, number: int, durations: dict[str, int]) -> Round:
    """Draw a round: each fault occurs once in as many rounds, then again with the next use."""
    draws = random.Random(f"{seed} {npu} {number}")
    faults = drawable(npu)
    cycle, index = divmod(number, len(faults))
    first = faults[index]
    uses = [use for use in USES if first.suits(npu, use)]
    use = uses[(index + cycle) % len(uses)]
    chosen = [first]
    if draws.random() < 0.25:
        more = [fault for fault in faults if fault.suits(npu, use)]
        chosen.append(draws.choice([one for one in more if one.name[:10] != first.name[:10]]))
    # A fault may extend the use to a time-out.
    longest = durations[use] + draws.choice([0, 0, 0, 60_000])
    rows = []
    for fault in chosen:
        at_once = fault.name[:3] in ("npu", "dma") and draws.random() < 0.5
        at_once |= fault.name[:3] == "nvm"  # its step count determines the moment
        after = 0 if at_once else 1 + int(draws.random() * longest * 1000)
        rows.append((fault, draws.randint(1, fault.most), after))
    return Round(number, use, tuple(rows))


class Running:
    """One emulated board and its findings."""

    def __init__(self, npu: str, seed: int, *, host_time: bool = False) -> None:
        """Start the board and measure how long each use takes."""
        self.npu, self.seed = npu, seed
        # Host time also passes while a busy host runs other programs.
        self.timeout_ms = 1000 if host_time else 50
        self.failures: list[str] = []
        self.ends: Counter[str] = Counter()
        second = NPUS.get(npu)
        image = rom_image((npu, second or npu), "faults_on_board.py")
        name = NVM_BOARD if npu == NVM_NPU else None
        self.board = QemuBoard(
            Machine(emulated(name, npu, npu1=second), romfs=image, repeatable=not host_time)
        )
        try:
            self._begin()
            self.durations = {use: self.board.eval(f"duration({use!r})") for use in uses_of(npu)}
            self._begin()
        except BaseException:
            self.board.close()
            raise

    def round(self, number: int) -> None:
        """Run one round; failures are kept in `failures`."""
        if number % BLOCK == 0:
            self.board.soft_reset()
            self._begin()
        drawn = draw(self.seed, self.npu, number, self.durations)
        try:
            result = self._attempt(drawn)
            self.ends[result.partition(":")[0][:40]] += 1
            if not drawn.allows(result):
                self._failed(drawn, f"ended with {result}")
            self._check(drawn)
        except BoardError as error:
            self._failed(drawn, f"{error}")
            self.board.reset()
            self._reach([fault.name.partition(" ")[0] for fault, _, _ in drawn.faults])

    def _begin(self) -> None:
        """Load the program, and measure free memory afterwards."""
        program = f"timeout_ms = {self.timeout_ms}\nexec(open('/rom/program.py').read())"
        self.board.exec(program, timeout=SILENCE_S)
        for use in uses_of(self.npu):
            self.board.exec(f"{use}()", timeout=SILENCE_S)
        free = self.board.exec("again('predict')").rpartition("free: ")[2]
        self.level = Level(int(free), MISSING)

    def _attempt(self, drawn: Round) -> str:
        rows, action = [], None
        for fault, count, after in drawn.faults:
            name, _, function = fault.name.partition(" ")
            action = function if name == "board.call" else action
            rows.append((name, count, after))
        heard = bytearray()
        self.board.start(f"attempt({drawn.use!r}, {rows}, {action!r})")
        result = "no result"
        try:
            self.board.finish(timeout=SILENCE_S, on_output=heard.extend)
            result = heard.decode(errors="replace").rpartition("result: ")[2].splitlines()[0]
        except BoardResetError:
            result = "restarted"
        except RemoteError as error:
            if "KeyboardInterrupt" not in str(error):
                raise
            result = CTRL_C
        resets = any(fault.soft_reset for fault, _, _ in drawn.faults)
        if resets:
            self.board.soft_reset()
        if resets or result in ("restarted", "no result", CTRL_C) or "console." in f"{rows}":
            self._reach([name for name, _, _ in rows])
        return result

    def _reach(self, faults: list[str]) -> None:
        """Return to the program's prompt, whatever happened on the line."""
        for _ in range(TRIES):
            with contextlib.suppress(BoardError):
                self.board.interrupt()
                self.board.exec(f"import emulator\nfor n in {faults}: emulator.fault(n, 0)")
                # Noise can have any effect, even a soft reset.
                if not self.board.eval("'again' in globals()"):
                    self._begin()
                return
        raise BoardTimeoutError("the board is lost: no prompt any more")

    def _check(self, drawn: Round) -> None:
        try:
            answer = self.board.exec(f"again({drawn.use!r})", timeout=SILENCE_S)
            free = int(answer.rpartition("free: ")[2])
        except RemoteError as error:
            self._failed(drawn, f"after it: {str(error).splitlines()[-1]}")
            self.board.soft_reset()
            self._begin()
            return
        if self.level.falls(free):
            self._failed(drawn, f"{self.level.missing} bytes of the heap are missing")
            self.level = Level(free, MISSING)

    def _failed(self, drawn: Round, what: str) -> None:
        first = drawn.number // BLOCK * BLOCK
        self.failures.append(
            f"{self.npu}, {drawn}: {what}\n    repeat with --seed {self.seed} --first {first} "
            f"--runs {drawn.number - first + 1}"
        )


class Faults:
    """The campaign: rounds by number, for a seed."""

    chunk = 4 * BLOCK

    def __init__(self, *, host_time: bool = False) -> None:
        self._host_time = host_time

    def run(self, seed: int, first: int, count: int) -> dict[str, int]:
        """Run this many rounds; returns the counts of their ends, or raises FoundError."""
        ends: Counter[str] = Counter(rounds=count)
        for begin in range(first - first % self.chunk, first + count, self.chunk):
            npu = turn_of(begin, self.chunk, ALL_NPUS)
            running = Running(npu, seed, host_time=self._host_time)
            with contextlib.closing(running.board):
                for number in range(max(begin, first), min(begin + self.chunk, first + count)):
                    running.round(number)
            ends.update(running.ends)
            if running.failures:
                raise FoundError("\n".join(running.failures))
        return dict(ends)
