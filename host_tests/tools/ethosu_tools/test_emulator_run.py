# SPDX-License-Identifier: MIT
"""Following an emulator, with a shell in its place."""

import os
import select

import pytest
from ethosu_tools import emulator_run
from ethosu_tools.emulator_run import Limits, Reason, Stream
from ethosu_tools.errors import SetupError, UsageError

NO_LIMITS = Limits()


def test_streams_that_are_read_later_lose_nothing(monkeypatch):
    """Each call of select() reports one stream, stdout first."""
    ready = select.select
    monkeypatch.setattr(select, "select", lambda read, *rest: ready(sorted(read)[:1], *rest))
    stdout, other = (Stream(lambda data: None, texts=[text]) for text in ("TAG", "none"))

    def command(paths):
        return ["sh", "-c", f"printf abc > {paths[0]}; printf xTAGy; exec sleep 100"]

    outcome = emulator_run.run(command, [stdout, other], NO_LIMITS)
    assert (outcome.reason, stdout.data, other.data) == (Reason.TEXT, b"xTAGy", b"abc")


@pytest.mark.parametrize("error", [UsageError, SetupError])
def test_a_run_that_does_not_start_leaves_no_pipe(error):
    def command(paths):
        if error is UsageError:
            raise UsageError("no such NPU")
        return ["/no/such/emulator"]

    before = os.listdir("/proc/self/fd")  # noqa: PTH208  (Path has no method without another one)
    with pytest.raises(error):
        emulator_run.run(command, [Stream(print), Stream(print)], NO_LIMITS)
    assert len(os.listdir("/proc/self/fd")) == len(before)  # noqa: PTH208
