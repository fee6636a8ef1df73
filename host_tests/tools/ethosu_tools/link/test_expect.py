# SPDX-License-Identifier: MIT
"""`Board.expect` finds what a board prints, each once: of a program that runs or ended, at boot."""

import re

import pytest
from ethosu_tools.base.errors import BoardResetError, ExpectError, RemoteError
from ethosu_tools.link import expect

TALK = """\
for number in range(4):
    print("tick", number)
name = input("name? ")
print("hi", name)
1 // 0
"""


def test_each_output_is_matched_once(board):
    board.exec("print('a 1')\nprint('a 2')\nprint('b.3')")
    assert [board.expect(r"a (\d)")[1] for _ in range(2)] == ["1", "2"]
    assert board.expect_exact(["no", "b.3"])[0] == "b.3"
    with pytest.raises(ExpectError, match=r"expecting 'a': .* did not print it .* nothing$"):
        board.expect("a", timeout=0.2)
    assert board.eval("1") == 1


def test_a_running_program_is_talked_to(board):
    board.start(TALK)
    assert board.expect([rb"tick (2)\n", "never"])[1] == "2"
    board.expect_exact("name? ")
    board.inject(b"Bob\r")
    assert board.expect(re.compile("HI (.*)\n", re.I))[1] == "Bob"
    board.expect("ZeroDivisionError: .*\n")
    with pytest.raises(ExpectError, match="its program ended"):
        board.expect("more")
    with pytest.raises(RemoteError, match="ZeroDivisionError"):
        board.finish()
    assert board.output().count("ZeroDivisionError") == 1 and board.eval("2") == 2


def test_finish_returns_what_follows_a_match(board):
    board.start("print('one')\nprint('two')")
    board.expect("one\n")
    assert "one" not in board.finish()
    board.expect("two")


def test_an_endless_program_fills_no_memory_and_is_an_error(board):
    board.start("while True: print('x' * 500)")
    with pytest.raises(ExpectError, match="waited 1 s") as raised:
        board.expect("y", timeout=1)
    assert len(str(raised.value)) < 2 * expect._TAIL
    assert len(board.log.console._text) <= expect._LARGEST
    board.interrupt()
    assert board.eval("3") == 3


def test_the_boot_is_matched_after_a_reset(board):
    board.exec("print('MicroPython v of before')")
    for wait in (True, False):
        board.reset(wait=wait)
        assert "of before" not in board.expect("MicroPython v.*\n")[0]
        assert board.eval("4") == 4


@pytest.mark.usefixtures("emulator_only")
def test_a_fault_ends_the_wait_as_a_reset(board):
    board.start("import machine\nmachine.mem32[0x90000000]")
    with pytest.raises(BoardResetError, match=r"expecting 'never': .*MemManage.*0x90000000"):
        board.expect("never", timeout=1000)
    assert board.eval("5") == 5


def test_characters_in_parts_are_whole():
    console = expect.Console()
    for byte in "é\r\n".encode():
        console.add(console.decode(bytes([byte])))
    (pattern,) = expect.compiled("é\n", exact=True)
    assert console.find([pattern]) and not console.tail()
