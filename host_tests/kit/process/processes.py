# SPDX-License-Identifier: MIT
"""Watches processes that tests do not start themselves."""

import time
from pathlib import Path

from ethosu_tools.base.deadline import Deadline

WAIT_S = 20


def alive(pid: int) -> bool:
    """Whether the process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for_end(pid: int) -> None:
    """Wait until the process has ended; fails if it does not."""
    deadline = Deadline(WAIT_S)
    while alive(pid):
        assert not deadline.expired(), f"process {pid} runs on"
        time.sleep(0.02)
