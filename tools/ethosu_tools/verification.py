# SPDX-License-Identifier: MIT
"""Whether command streams are verified before the NPU gets them, and how to do without it.

--no-verify turns it off for all that a command loads, in its worker processes too: it sets
ETHOSU_VERIFY=0 while the command runs.
"""

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "ETHOSU_VERIFY"
# The driver's sentences about a stream that it refuses, see ethosu_errors.def.
_REFUSAL = re.compile(
    r"command at word \d|command stream (word \d|ends inside|has no STOP|branches to)"
)


def add_option(parser: argparse.ArgumentParser) -> None:
    """Declare --no-verify."""
    parser.add_argument(
        "--no-verify",
        dest="verify",
        action="store_false",
        default=None,  # as ETHOSU_VERIFY says
        help="let the NPU run command streams that the verifier refuses; a simulated or emulated "
        "one can do no harm, on a board a wrong stream can write to any memory",
    )


@contextmanager
def applied(verify: bool | None) -> Iterator[None]:
    """Have `chosen()` return this for a while; None changes nothing."""
    before = os.environ.get(VARIABLE)
    if verify is not None:
        _set(None if verify else "0")
    try:
        yield
    finally:
        _set(before)


def _set(value: str | None) -> None:
    if value is None:
        os.environ.pop(VARIABLE, None)
    else:
        os.environ[VARIABLE] = value


def chosen(verify: bool | None = None) -> bool:
    """Return what was asked for, else what ETHOSU_VERIFY says: 0 does not verify."""
    return os.environ.get(VARIABLE) != "0" if verify is None else verify


def board_argument() -> str:
    """Return what ethosu.Model() on a board is called with besides."""
    return "" if chosen() else ", verify=False"


def with_way_out(sentence: str) -> str:
    """Return the sentence, with the option that helps if it is the verifier's."""
    if not _REFUSAL.search(sentence):
        return sentence
    return f"{sentence}; if you trust the file, run it with --no-verify (in Python verify=False)"
