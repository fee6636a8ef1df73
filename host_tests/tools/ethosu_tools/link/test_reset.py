# SPDX-License-Identifier: MIT
"""A board whose USB is its own leaves at a reset, and comes back, perhaps under another name."""

import pytest
from ethosu_tools.base.errors import BoardLinkError, ExpectError
from ethosu_tools.base.locks import Lock, LockedError
from ethosu_tools.link.board import Board
from ethosu_tools.link.port import UsbDevice
from serial.tools.list_ports_common import ListPortInfo

from host_tests.kit.lines.fake_board import BANNER, FakeBoard


class Leaving(FakeBoard):
    """A board that leaves when it gets a program, after it has acknowledged it or not."""

    def _run(self, code):
        if self.fault == "leaves":
            self._send(b"OK")
            self.fault = "vanish"
        super()._run(code)


def listed(name, location, number="123"):
    """List a port as pyserial does."""
    port = ListPortInfo(name)
    port.vid, port.pid, port.serial_number, port.location = 0x37C5, 0x16E3, number, location
    return port


class Bus:
    """The USB ports of a PC, as the system lists them, and a board that comes and goes."""

    def __init__(self, folder, number="123"):
        self.folder, self.number = folder, number
        self.ports, self.fakes = {}, []
        self.next = None  # the name under which the board comes back
        self.away = 0  # how often it is looked for until then
        self.plug("ttyACM0", number, who="mine")

    def plug(self, name, number, fault=None, location="1-2:1.0", **names):
        fake = Leaving(fault, names)
        self.fakes.append(fake)
        link = self.folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(fake.port)
        self.ports[name] = listed(str(link), location, number)
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
                self.plug("ttyACM1", self.number, location="1-2:1.2", who="data")


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
        return port


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


@pytest.mark.parametrize("name", ["ttyACM0", "ttyACM2"])
@pytest.mark.parametrize("call", ["lent", "reset"])
def test_another_device_with_the_same_serial_number_is_left_alone(bus, call, name):
    """Many adapters share one number; this one is the first in the list."""
    bus.plug("ttyAAA0", bus.number, location="1-1:1.0", who="twin")
    with Board(str(bus.folder / "ttyACM0"), boot_timeout=3) as board:
        assert lend(board) == str(bus.folder / "ttyACM0")
        bus.leave(name=name)
        board.reset(wait=False)
        CALLS[call](board)
        assert board.eval("who") == "mine"


@pytest.mark.parametrize("name", ["ttyACM0", "ttyACM2"])
def test_the_name_that_is_lent_and_locked_is_the_one_of_today(bus, board, name):
    bus.leave(name=name)
    board.reset()
    if name != "ttyACM0":
        Lock(str(bus.folder / "ttyACM0")).close()  # another's now
    with pytest.raises(LockedError):
        Lock(str(bus.folder / name))
    with board.lent() as port:
        assert port == str(bus.folder / name)
        Lock(port).close()
    with pytest.raises(LockedError):
        Lock(str(bus.folder / name))
    board.close()
    Lock(str(bus.folder / name)).close()


ONE, OTHER, THIRD = "1-2:1.0", "1-3:1.0", "1-4:1.0"
MAC = "/dev/cu.usbmodem14"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ([("a", ONE)], [("a", ONE)], "a"),
        ([("a", ONE)], [("b", ONE)], "b"),
        ([("a", ONE)], [("b", OTHER)], "b"),  # in another socket
        ([("a", ONE)], [("a", "1-2:1.2")], "no USB port has the board's serial number 123"),
        ([("a", ONE)], [("a", OTHER), ("b", ONE)], "b"),
        ([("a", ONE)], [("a", OTHER), ("b", THIRD)], "2 USB ports have .* 123, .*: a, b"),
        ([("b", ONE), ("a", OTHER)], [("a", OTHER)], "only on another device, at a"),
        ([("b", ONE), ("a", OTHER)], [("a", OTHER), ("c", ONE)], "c"),
        ([("a", None)], [("b", None)], "b"),
        ([("a", None)], [("a", None), ("b", None)], "a"),
        ([("a", None)], [("b", None), ("c", None)], "2 USB ports have .* 123, .*: b, c"),
        ([("b", None), ("a", None)], [("a", None), ("b", None)], "b"),
        ([("b", None), ("a", None)], [("a", None)], "only on another device, at a"),
        # macOS tells no interface: names end with it.
        ([(MAC + "3", "20-1"), (MAC + "1", "20-1")], [(MAC + "1", "20-1")], "no USB port has"),
        ([(MAC + "3", "20-1")], [(MAC + "21", "20-2"), (MAC + "23", "20-2")], MAC + "23"),
    ],
    ids=str,
)
def test_of_the_ports_with_its_number_the_boards_is_found(monkeypatch, before, after, found):
    def list_ports(rows):
        ports = [listed(*row) for row in rows]
        monkeypatch.setattr("serial.tools.list_ports.comports", lambda: ports)

    list_ports(before)
    device = UsbDevice.at(before[0][0])
    list_ports(after)
    if " " in found:
        with pytest.raises(BoardLinkError, match=found):
            device.port()
    else:
        assert device.port() == found


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
