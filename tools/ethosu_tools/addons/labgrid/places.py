# SPDX-License-Identifier: MIT
"""Labgrid places as ports: `labgrid:NAME`, and in a pool all places with given tags.

LG_COORDINATOR names the coordinator, as for labgrid's own programs. A place that the user has
acquired by hand stays acquired; any other place is acquired only while it is open.
client.py communicates with the coordinator. It runs in a Python with labgrid, which has its own
pyserial: that of LABGRID_PYTHON or of `ethosu doctor --install labgrid`, else this one.
"""

import functools
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...base import other_python
from ...base.errors import BoardLinkError, InputError, SetupError
from .doctor import KIT

PREFIX = "labgrid:"
VARIABLE = "LABGRID_PYTHON"
_COORDINATOR = "LG_COORDINATOR"
_CLIENT = Path(__file__).with_name("client.py")


def expand(port: str) -> dict[str, Mapping[str, str]]:
    """List ports and tags of places selected by `labgrid:NAME` or `labgrid:TAG=VALUE,...`."""
    words = port.removeprefix(PREFIX)
    known = _places()
    if "=" not in words:
        names = [words] if words in known else []
    else:
        tags = dict(word.partition("=")[::2] for word in words.split(","))
        names = [name for name in sorted(known) if tags.items() <= known[name].items()]
    if not names:
        listed = "; ".join(
            " ".join([name, *(f"{key}={value}" for key, value in sorted(known[name].items()))])
            for name in sorted(known)
        )
        raise InputError(f"labgrid has no place {words!r}; its places are {listed or '(none)'}")
    return {PREFIX + name: known[name] for name in names}


class Acquired:
    """A place that this process may use until `release`; `by_us` if not acquired by hand."""

    def __init__(self, port: str, is_stale: bool) -> None:
        """Acquire a place; `is_stale` if a killed process of ours had acquired it before."""
        self._place = port.removeprefix(PREFIX)
        answer = _ask("acquire", place=self._place)
        self.holder: str | None = answer.get("holder")
        self.port: str = answer.get("port", "")
        self.by_us = self.holder is None and (is_stale or not answer["before"])

    def release(self) -> None:
        """Release the place, unless acquired by hand; may be called repeatedly."""
        by_us, self.by_us = self.by_us, False
        if by_us:
            _ask("release", place=self._place)


@functools.cache
def _places() -> dict[str, dict[str, str]]:
    places: dict[str, dict[str, str]] = _ask("places")
    return places


def _ask(request: str, **arguments: str) -> Any:
    environment = other_python.environment("labgrid")
    interpreter = os.environ.get(VARIABLE) or environment or sys.executable
    with tempfile.TemporaryDirectory(prefix="ethosu-") as folder:
        answer = Path(folder) / "answer"
        options = {
            "request": request,
            "coordinator": os.environ.get(_COORDINATOR, "127.0.0.1:20408"),
            "answer": str(answer),
            **arguments,
        }
        try:
            done = other_python.run(interpreter, _CLIENT, options, Path(folder))
        except OSError as error:
            raise SetupError(
                f"{VARIABLE} names {interpreter}, which cannot be run: {error.strerror}"
            ) from None
        if done.returncode == 0 and answer.is_file():
            return json.loads(answer.read_text())
    other_python.require(interpreter, KIT.probe, "labgrid", "labgrid", by=VARIABLE)
    raise BoardLinkError(other_python.reason(done))
