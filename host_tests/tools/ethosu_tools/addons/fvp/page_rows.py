# SPDX-License-Identifier: MIT
"""The programs of the page."""

from ethosu_tools.addons.fvp import command_line

PROGRAMS = {
    "FVP_": lambda name, words: command_line.parser(name).parse_intermixed_args(words),
}
READERS, INSTALLED = {}, {}
