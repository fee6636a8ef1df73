# SPDX-License-Identifier: MIT
"""Manages the boards of a test run, real and emulated: which are in use, and which have failed.

The README explains the file of a pool.
Without a pool, or with "qemu" as the only entry, each worker of a run has separate emulated boards.
"""

import shlex
import subprocess
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .. import boards
from ..base import deadline
from ..base.errors import BoardError, InputError
from ..base.files import read_whole
from ..base.locks import Lock, LockedError, managed, waiting
from ..boards import targets
from ..boards.facts import BoardFacts
from ..link.board import Board, open_board

QEMU = "qemu"
_POLL_S = 0.05
# A power switch answers within this time, and a board's capacitors are then empty.
_SWITCH_S, _OFF_S = 30.0, 1.0
# This code identifies a board; stock firmware has no module `ethosu`.
_ASK = """\
import os
try:
    import ethosu
    _answer = ethosu.npus()
except (ImportError, OSError):
    _answer = []
_answer = _answer, os.uname()[3], os.uname()[4]
"""


class NoBoardError(BoardError):
    """The pool has a board of that kind, but it is not available."""


class NoSuchBoardError(InputError):
    """The pool has no board of that kind."""


@dataclass(frozen=True)
class Needs:
    """Requirements of a test; None and no tags accept any board."""

    npu: str | None = None
    board: str | None = None
    tags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        words = [word for word in (self.npu, self.board) if word]
        return " ".join(words + [f"tag {tag}" for tag in sorted(self.tags)]) or "any"


@dataclass(frozen=True)
class Place:
    """A board of the pool: its port, and its declared properties."""

    port: str = QEMU
    name: str = ""
    board: str | None = None
    npu: str | None = None
    tags: frozenset[str] = frozenset()
    power: tuple[str, ...] = ()  # commands that switch the board off and on
    lock: str = ""  # name of the lock of an emulated board; "" if each worker has its own

    @property
    def title(self) -> str:
        """The place's name in reports."""
        return self.name or (self.port if self.is_real else self._facts.name)

    @property
    def is_real(self) -> bool:
        """Whether the place is a real board."""
        return self.port != QEMU

    @property
    def locked(self) -> str:
        """Name of the lock that the place's user holds; "" if each worker has its own board."""
        return self.port if self.is_real else self.lock

    def switch_off_and_on(self) -> None:
        """Interrupt the board's power; BoardError if a command fails or takes too long."""
        for number, command in enumerate(self.power):
            if number:
                time.sleep(_OFF_S)
            who = f"{self.title}: the command for its power, {command}"
            try:
                done = deadline.run(shlex.split(command), _SWITCH_S)
            except (OSError, subprocess.TimeoutExpired) as error:
                late = isinstance(error, subprocess.TimeoutExpired)
                why = f"took longer than {_SWITCH_S:g} s" if late else f"cannot be run: {error}"
                raise BoardError(f"{who}, {why}") from None
            if done.returncode:
                said = (done.stderr or done.stdout).strip()[-200:]
                raise BoardError(f"{who}, failed (exit code {done.returncode}): {said}")

    @property
    def _facts(self) -> BoardFacts:
        return boards.chosen(self.board)

    def fits(self, needs: Needs) -> bool:
        """Whether the place may meet the needs; a real board's NPU may be unknown yet."""
        board = self.board if self.is_real else self._facts.name
        if not needs.tags <= self.tags or (needs.board and needs.board != board):
            return False
        if needs.npu is None or self.npu:
            return needs.npu in (None, self.npu)
        return self.is_real or needs.npu in targets.npus_of(self._facts)

    @property
    def own_npu(self) -> str | None:
        """The declared NPU; an emulated board may get another one for a test."""
        return self.npu or (None if self.is_real else self._facts.npus[0])


class Taken:
    """A board in use by this process."""

    def __init__(self, place: Place, npu: str | None) -> None:
        """Open or start the board, and identify it."""
        self.place = place
        with ExitStack() as opened:
            self._lock = Lock(place.lock, place.title) if place.lock else None
            if self._lock:
                opened.callback(self._lock.close)
            self.board = self._open(place, npu)
            opened.callback(self.board.close)
            answer: tuple[list[str], str, str] = self.board.ask(_ASK, kind=(list, str, str))
            self.npus, self.firmware, self.machine = answer
            self.close = opened.pop_all().close

    @staticmethod
    def _open(place: Place, npu: str | None) -> Board:
        """Open the board; one that does not answer is switched off and on, if that is possible."""
        options = {"board": place.board, "npu": npu or place.npu}
        try:
            return open_board(place.port, **options)
        except LockedError:
            raise
        except BoardError:
            if not place.power:
                raise
        with Lock(place.port):
            place.switch_off_and_on()
        return open_board(place.port, **options)

    def is_awaited(self) -> bool:
        """Whether another worker of this pytest run is waiting for the board."""
        return self._lock.is_awaited() if self._lock else self.board.is_awaited()

    def fits(self, needs: Needs) -> bool:
        """Whether the board meets the needs; by default, an emulated one must have its own NPU."""
        npu = needs.npu or (None if self.place.is_real else self.place.own_npu)
        return self.place.fits(needs) and (npu is None or npu in self.npus)

    def revive(self) -> None:
        """Restart the board's interpreter; BoardError if it does not respond."""
        try:
            self.board.soft_reset()
        except BoardError:
            if self.place.is_real:
                if not self.place.power:
                    raise
                self.place.switch_off_and_on()
                self.board.reconnect()
            else:
                self.board.reset()
            self.board.soft_reset()


class Pool:
    """All boards of a run, as one of its processes sees them."""

    def __init__(self, places: Sequence[Place], wait: float = 0) -> None:
        """`wait`: seconds to wait for other users; workers of the same run always wait."""
        self.places = tuple(places)
        self.excluded: dict[str, str] = {}
        self._told: set[str] = set()  # boards whose reason an error has named
        self._wait = wait
        self._npus: dict[Place, list[str]] = {}
        self._taken: list[Taken] = []

    def use(self, needs: Sequence[Needs]) -> list[Taken]:
        """Take boards for a test, one per entry of `needs`; keep the last test's if they fit."""
        kept = [taken for taken in self._taken if not taken.is_awaited() and self._alive(taken)]
        if len(kept) != len(needs) or not all(map(Taken.fits, kept, needs)):
            self.release()
            self._taken = self._take_all(needs)
            for taken in self._taken:
                taken.revive()
        else:
            self._taken = kept
        return self._taken

    def release(self) -> None:
        """Release the boards."""
        while self._taken:
            self._taken.pop().close()

    def exclude(self, place: Place, reason: str) -> None:
        """Exclude this board from the run."""
        self.excluded[place.title] = reason

    def summary(self) -> dict[str, str]:
        """Return why boards were excluded, with their output if no error has shown it."""
        return {
            title: reason.partition("; it sent: ")[0] if title in self._told else reason
            for title, reason in self.excluded.items()
        }

    def _alive(self, taken: Taken) -> bool:
        """Recover a board after a test; an emulated one may be restarted."""
        try:
            taken.revive()
        except BoardError as error:
            taken.close()
            if taken.place.is_real:
                self.exclude(taken.place, str(error))
            return False
        return True

    def _take_all(self, needs: Sequence[Needs]) -> list[Taken]:
        """Take all boards or none, so that no worker holds one while waiting for another."""
        start = time.monotonic()
        while True:
            with ExitStack() as stack:
                locked: list[LockedError] = []
                boards: list[Taken] = []
                for need in needs:
                    taken = self._take(need, boards, locked)
                    if taken is None:
                        break
                    stack.callback(taken.close)
                    boards.append(taken)
                else:
                    stack.pop_all()
                    return boards
            left = self._wait - (time.monotonic() - start)
            if left <= 0 and not any(error.same_run for error in locked):
                raise NoBoardError(
                    f"no board is free: {'; '.join(map(str, locked))} (to wait, use --ethosu-wait "
                    "SECONDS)"
                )
            self._pause(need)

    def _pause(self, need: Needs) -> None:
        with ExitStack() as stack:
            for place in self._candidates(need):
                if place.locked:
                    stack.enter_context(waiting(place.locked))
            time.sleep(_POLL_S)

    def _take(self, need: Needs, held: Sequence[Taken], locked: list[LockedError]) -> Taken | None:
        """Take the first available board; None if all are in use."""
        used = {taken.place for taken in held if taken.place.locked}
        places = [place for place in self._candidates(need) if place not in used]
        for place in sorted(places, key=lambda place: not self._has(place, need.npu)):
            same_run = any(error.same_run for error in locked)
            if same_run and not place.is_real and not self._has(place, need.npu):
                break  # wait until another worker of this run releases a board with this NPU
            try:
                taken = Taken(place, None if place.is_real else need.npu)
            except LockedError as error:
                locked.append(error)
                continue
            except BoardError as error:
                if not place.is_real:
                    raise
                self.exclude(place, str(error))
                continue
            self._npus[place] = taken.npus
            if place.npu and place.npu not in taken.npus:
                self.exclude(place, f"has {_list(taken.npus)}, but is declared to have {place.npu}")
            elif taken.fits(need):
                return taken
            taken.close()
        if locked:
            return None
        if held:
            raise NoSuchBoardError(
                f"the test needs more than {len(held)} boards, and no other board in the pool "
                f"meets the requirements ({need}); available: {self._kinds()}"
            )
        raise self._reason(need)

    def _has(self, place: Place, npu: str | None) -> bool:
        """Whether the place has this NPU, as far as known."""
        known = self._npus.get(place) if place.is_real else None
        return npu is None or npu in (known or [place.own_npu or ""])

    def _candidates(self, need: Needs) -> Iterator[Place]:
        for place in self.places:
            known = self._npus.get(place) if place.is_real else None
            wrong = known is not None and need.npu is not None and need.npu not in known
            if place.fits(need) and place.title not in self.excluded and not wrong:
                yield place

    def _reason(self, need: Needs) -> BoardError | NoSuchBoardError:
        """Return the reason why no board is available for a test."""
        titles = [place.title for place in self.places if place.fits(need)]
        if excluded := [title for title in titles if title in self.excluded]:
            self._told.update(excluded)
            reasons = "; ".join(f"{title}: {self.excluded[title]}" for title in excluded)
            return NoBoardError(f"no board is left: {reasons}")
        return NoSuchBoardError(
            f"no board meets the requirements ({need}); available: {self._kinds()}"
        )

    def _kinds(self) -> str:
        return "; ".join(
            f"{place.title}: {_list(self._npus.get(place) or [place.npu or 'NPU unknown'])}"
            if place.is_real
            else f"{place.title}: emulated"
            for place in self.places
        )


def _list(npus: Sequence[str]) -> str:
    return ", ".join(npus) or "no NPU"


def expanded(places: Sequence[Place], run: str) -> list[Place]:
    """Expand entries of an add-on, such as labgrid, to places, with tags KEY=VALUE.

    If there are several places, an emulated one has one user at a time in this `run`.
    """
    expansions = [expansion for place in places for expansion in _expanded(place)]
    if len(expansions) == 1:
        return expansions
    return [
        place if place.is_real else replace(place, lock=f"emulated://{run}/{index}")
        for index, place in enumerate(expansions)
    ]


def _expanded(place: Place) -> list[Place]:
    manager = managed(place.port)
    if manager is None:
        return [place]
    ports = manager.expand(place.port)
    name = place.name if len(ports) == 1 else ""
    return [
        replace(place, port=port, name=name, tags=place.tags | set(map("=".join, tags.items())))
        for port, tags in ports.items()
    ]


def read(path: Path) -> list[Place]:
    """Read a pool's file."""
    try:
        table = tomllib.loads(read_whole(path).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path} is not a TOML file: {error}") from None
    rows = table.get("board")
    if set(table) != {"board"} or not isinstance(rows, list) or not rows:
        raise InputError(f"{path} must have tables [[board]], found {', '.join(table) or 'none'}")
    return [_place(path, index, row) for index, row in enumerate(rows)]


def _place(path: Path, index: int, row: dict[str, Any]) -> Place:
    where = f"{path}, board {index}"
    known = {field.name for field in fields(Place)} - {"lock"}
    if not set(row) <= known or "port" not in row:
        raise InputError(
            f"{where} has {', '.join(row) or 'no keys'}; port is required, "
            f"{', '.join(sorted(known - {'port'}))} are optional"
        )
    tags, power = row.pop("tags", []), _power(where, row.pop("power", ""))
    wrong = [key for key, value in row.items() if not isinstance(value, str)]
    if wrong or not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError(f"{where}: {', '.join(wrong) or 'tags'} must be text")
    if row.get("board"):
        boards.load(row["board"])
    return Place(tags=frozenset(tags), power=power, **row)


def _power(where: str, given: object) -> tuple[str, ...]:
    """Return the commands that switch a board off and on; () without any."""
    if not given:
        return ()
    if isinstance(given, str) and "{action}" in given:
        return tuple(given.replace("{action}", action) for action in ("off", "on"))
    if isinstance(given, dict) and set(given) == {"off", "on"}:
        return str(given["off"]), str(given["on"])
    raise InputError(
        f"{where}: power must be a command with {{action}}, or {{off = COMMAND, on = COMMAND}}"
    )
