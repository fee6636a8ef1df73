# SPDX-License-Identifier: MIT
"""A board whose USB is its own leaves at a reset, and comes back, perhaps under another name."""

import pytest
from ethosu_tools.base.errors import BoardLinkError, ExpectError
from ethosu_tools.link.board import Board
from serial.tools.list_ports_common import ListPortInfo

from host_tests.kit.lines.fake_board import BANNER, FakeBoard


class Leaving(FakeBoard):
    """A board that leaves when it gets a program, after it has acknowledged it or not."""

    def _run(self, code):
        if self.fault == "leaves":
            self._send(b"OK")
            self.fault = "vanish"
        super()._run(code)


class Bus:
    """The USB ports of a PC, as the system lists them, and a board that comes and goes."""

    def __init__(self, folder, number="123"):
        self.folder, self.number = folder, number
        self.ports, self.fakes = {}, []
        self.next = None  # the name under which the board comes back
        self.away = 0  # how often it is looked for until then
        self.plug("ttyACM0", number, who="mine")

    def plug(self, name, number, fault=None, interface=0, **names):
        fake = Leaving(fault, names)
        self.fakes.append(fake)
        link = self.folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(fake.port)
        port = self.ports[name] = ListPortInfo(str(link))
        port.vid, port.pid, port.serial_number = 0x37C5, 0x16E3, number
        port.location = f"1-2:1.{interface}"
        return fake

    def leave(self, fault="vanish", name=None, says=None):
        """Leave with the next program; come back as `name`, if at all."""
        self.fakes[0].fault = fault
        self.next, self.away, self.says = name, 3, says
        self.left = True

    def comports(self):
        """List the ports; after a few times the board is back."""
        if self.next is not None and self.fakes[0].master < 0:
            self.unplug()
            self.away -= 1
            if self.away == 0:
                self.plug(self.next, self.number, self.says, who="mine")
                self.next = None
        return list(self.ports.values())

    def unplug(self):
        if self.ports.pop("ttyACM0", None):
            (self.folder / "ttyACM0").unlink()
            if self.next != "ttyACM0":  # others take the name, and the board has a second port
                self.plug("ttyACM0", "another", who="another")
                self.plug("ttyACM1", self.number, interface=2, who="data")


@pytest.fixture
def bus(tmp_path, monkeypatch):
    made = Bus(tmp_path)
    monkeypatch.setattr("serial.tools.list_ports.comports", made.comports)
    yield made
    for fake in made.fakes:
        fake.__exit__()


@pytest.fixture
def board(bus):
    with Board(str(bus.folder / "ttyACM0"), boot_timeout=3) as board:
        yield board


def lend(board):
    with board.lent() as port:
        assert port.startswith(str(board.port)[:-1])


CALLS = {
    "eval": lambda board: board.eval("1"),
    "start": lambda board: (board.start("1"), board.finish()),
    "soft_reset": Board.soft_reset,
    "interrupt": Board.interrupt,
    "inject": lambda board: board.inject(b"x"),
    "lent": lend,
    "reset": lambda board: board.reset(),
}


@pytest.mark.parametrize("fault", ["vanish", "leaves"])
@pytest.mark.parametrize("name", ["ttyACM0", "ttyACM2"])
@pytest.mark.parametrize("call", CALLS)
def test_the_next_call_finds_the_board_again(bus, board, call, name, fault):
    bus.leave(fault, name)
    if call != "reset":
        board.reset(wait=False)
    CALLS[call](board)
    assert board.eval("who") == "mine" and not board.is_lost


@pytest.mark.parametrize("fault", ["vanish", "leaves"])
@pytest.mark.parametrize("name", ["ttyACM0", "ttyACM2"])
def test_what_it_prints_after_its_return_is_found(bus, board, name, fault):
    """Its banner is no sign of another restart."""
    bus.leave(fault, name, ("says", BANNER + b"main.py says hello\r\n"))
    board.reset(wait=False)
    board.expect("hello\n")
    with pytest.raises(ExpectError, match="did not print it"):
        board.expect("never", timeout=0.1)


def test_a_port_without_a_serial_number_comes_back_under_its_name(bus):
    bus.ports["ttyACM0"].serial_number = bus.number = None
    with Board(str(bus.folder / "ttyACM0"), boot_timeout=3) as board:
        bus.leave(name="ttyACM0")
        board.reset(wait=False)
        assert board.eval("who") == "mine"


@pytest.mark.parametrize("call", [*CALLS, "expect"])
def test_a_board_that_stays_away_is_an_error_until_it_is_back(bus, call):
    calls = CALLS | {"expect": lambda board: board.expect("x", timeout=0.2)}
    with Board(str(bus.folder / "ttyACM0"), boot_timeout=0.5) as board:
        bus.leave(name="ttyACM2")
        bus.away = -1
        board.reset(wait=False)
        with pytest.raises(BoardLinkError, match=r"serial number 123|the link to .* failed"):
            calls[call](board)
        bus.away = 1
        assert board.eval("who") == "mine"
