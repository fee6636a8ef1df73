# SPDX-License-Identifier: MIT
"""Commands against boards that violate the protocol, and the short form of the serial campaign;
`make campaign-serial` is the long one.
"""

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import BoardError
from ethosu_tools.link import bringup
from ethosu_tools.link.board import Board

from host_tests.conformance.campaigns import serial
from host_tests.kit.lines.fake_board import FakeBoard, Lie

LIES = [b"-" * 3000 + b"1", b"", b"\x1b[2J\x1b]0;x\x07", b"None", b"\xff" * 99, b"1 2 3\r\n" * 99]
ENDLESS = ["silent", "garbage", "flood", "trickle", "flood_in_answer", "trickle_in_answer"]


@pytest.mark.parametrize(
    ("command", "fault"),
    [("run", fault) for fault in (*ENDLESS, *LIES)]
    + [("deploy", fault) for fault in (*ENDLESS[-2:], *LIES)],
)
def test_each_command_ends_on_a_board_that_does_not_behave(
    ethosu, small_models, compiled, inputs, tmp_path, command, fault
):
    model = compiled(small_models["small_cnn"])
    more = ["--input", inputs(small_models["small_cnn"])] if command == "run" else []
    with FakeBoard(fault) as fake, serial.faster():
        code, out, err = ethosu(command, model, "--on", fake.port, *more)
    assert (code, out) == (5, "") and len(err.splitlines()) == 1, err
    assert all(each.isprintable() for each in err.strip())


# These boards follow the protocol, so no hash reveals their lies.
VALUES = [
    *("None", "-1", "7", "1 << 3", str(1 << 70), "1e999", "'\\x1b[2J'", "'ethos-u55-128'", "b''"),
    *("()", "[]", "{}", "(1,)", "(1, 2)", "(1, 2, 3)", "(None, None, None)", "('', '', '')"),
    *("([], '', '')", "('a', (1, 25, 0), b'x')", "[[]]", "[None]", "{'a': 1}", "((),) * 3"),
    *("True", "[1, -5, 'x']", "('x', [1], {})", "(4096, -1)", "(1 << 70, 1 << 70)"),
]


@pytest.mark.parametrize("command", ["run", "deploy"])
@pytest.mark.parametrize("value", VALUES[::3])
def test_each_command_ends_on_a_board_that_lies_within_the_protocol(
    ethosu, small_models, compiled, inputs, command, value
):
    source = small_models["small_cnn"]
    model = compiled(source)
    words = {
        "run": ["run", model, "--input", inputs(source), "--on"],
        "deploy": ["deploy", model, "--on"],
    }
    with FakeBoard(Lie(value, b"x" * 10)) as fake, serial.faster():
        code, out, err = ethosu(*words[command], fake.port)
    assert (code, len(err.splitlines())) in ((0, 0), (5, 1)), (out, err)
    assert all(each.isprintable() or each == "\n" for each in out + err)


def test_a_lie_is_told_whatever_bytes_the_hash_of_a_request_has():
    """A lie works for any bytes of a request's random hash, which may look like code."""
    for digest in (b", " * 16, b")\0'\"" * 8):
        with FakeBoard(Lie("7", b"data")) as fake, Board(fake.port, boot_timeout=3) as board:
            assert board._request("_ask(b'#\\n_answer = (1, 2)'", digest, 10) == b"7"
            call = "_exchange(lambda data: (data, 1), 3"
            assert board._request(call, digest, 10, b"abc") == b"data"


# Commands, except one that needs a board to interrupt, and one that compares an answer with True.
CHECKS = [check for check in bringup.CHECKS if check.name not in ("ctrl-c", "selftest")]


@pytest.mark.parametrize("value", VALUES)
def test_each_check_of_bringup_ends_on_a_board_that_lies(value):
    with FakeBoard(Lie(value)) as fake, Board(fake.port, boot_timeout=3) as board:
        for check in CHECKS:
            bench = bringup.Bench(board, boards.load("MPS3_AN547"), "ethos-u55-128")
            try:
                assert isinstance(check.run(bench), str)
            except (BoardError, bringup.CheckError) as error:
                assert len(str(error)) < 500, check.name


def test_commands_over_a_bad_line_give_the_right_result_or_one_error(compiled):
    seen = serial.Serial(compiled).run(seed=1, first=0, count=4)
    assert seen["sound 0"] == 4 and sum(seen.values()) >= 8
