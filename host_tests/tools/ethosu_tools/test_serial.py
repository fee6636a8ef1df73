# SPDX-License-Identifier: MIT
"""Commands against boards that do not keep to the protocol, and the short form of the serial
campaign; `make campaign-serial` is the long one.
"""

import pytest
from campaigns import serial

from tools.ethosu_tools.fake_board import FakeBoard

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


def test_commands_over_a_bad_line_end_with_the_right_result_or_a_sentence(compiled):
    seen = serial.Serial(compiled).run(seed=1, first=0, count=4)
    assert seen["sound 0"] == 4 and sum(seen.values()) >= 8
