# SPDX-License-Identifier: MIT
"""Selects whether command streams are verified before the NPU runs them.

--no-verify turns verification off for everything that a command loads, also in its worker
processes, because it sets ETHOSU_VERIFY=0 while the command runs.
"""

import argparse
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "ETHOSU_VERIFY"
# The driver's messages about a rejected stream, see ethosu_errors.def.
_REJECTED = re.compile(
    r"command at word \d|command stream (word \d|ends inside|has no STOP|has more than|branches to)"
)

_WRONG = "recompile with Vela"  # such a message is about results, not about memory


def add_option(parser: argparse.ArgumentParser) -> None:
    """Declare --no-verify."""
    parser.add_argument(
        "--no-verify",
        dest="verify",
        action="store_false",
        default=None,  # use ETHOSU_VERIFY
        help="run command streams that the verifier rejects; this is harmless on a simulated or "
        "emulated NPU, but on a board an invalid stream can overwrite any memory",
    )


@contextmanager
def applied(verify: bool | None) -> Iterator[None]:
    """Make `chosen()` return this value inside the context; None changes nothing."""
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
    """Whether to verify: the given value, else ETHOSU_VERIFY (0 turns verification off)."""
    return os.environ.get(VARIABLE) != "0" if verify is None else verify


def board_argument() -> str:
    """Return an additional argument for ethosu.Model() on a board."""
    return "" if chosen() else ", verify=False"


def with_hint(message: str) -> str:
    """Add a hint at --no-verify if the message comes from the verifier."""
    if not _REJECTED.search(message) or _WRONG in message:
        return message
    return f"{message}; if you trust the file, use --no-verify (in Python verify=False)"
