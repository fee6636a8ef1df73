# SPDX-License-Identifier: MIT
"""The short form of the serial campaign; `make serial` is the long one."""

from tools.ethosu_tools import serial_campaign


def test_commands_over_a_bad_line_end_with_the_right_result_or_a_sentence(compiled):
    seen = serial_campaign.play(seed=1, first=0, count=4, say=print, compiled=compiled)
    assert seen["sound 0"] == 4 and sum(seen.values()) >= 8
