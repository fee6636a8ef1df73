# SPDX-License-Identifier: MIT
"""Tests following an emulator, with a shell in its place."""

import os
import select
import sys

import pytest
from ethosu_tools.base.errors import SetupError, UsageError
from ethosu_tools.link.emulator import emulator_run
from ethosu_tools.link.emulator.emulator_log import KEPT, LEFT_OUT, Excerpt
from ethosu_tools.link.emulator.emulator_run import Limits, Reason, Stream

NO_LIMITS = Limits()


def test_streams_that_are_read_later_lose_nothing(monkeypatch):
    """Streams lose nothing when select() reports one at a time, stdout first."""
    ready = select.select
    monkeypatch.setattr(select, "select", lambda read, *rest: ready(sorted(read)[:1], *rest))
    stdout, other = (Stream(lambda data: None, texts=[text]) for text in ("TAG", "none"))

    def command(paths):
        return ["sh", "-c", f"printf abc > {paths[0]}; printf xTAGy; exec sleep 100"]

    outcome = emulator_run.run(command, [stdout, other], NO_LIMITS)
    kept = stdout.kept.data(), other.kept.data()
    assert (outcome.reason, *kept) == (Reason.TEXT, b"xTAGy", b"abc")


def test_an_excerpt_is_the_beginning_and_the_end():
    """An excerpt has beginning and end of the data, for any length and any split."""
    whole = bytes(range(256))
    for length in range(0, 80, 3):
        for part in (1, 7, 100):
            data, excerpt = whole[:length], Excerpt(10)
            for at in range(0, length, part):
                excerpt.take(data[at : at + part])
            gap = f"\n[{length - 20} {LEFT_OUT}]\n".encode()
            kept = data if length <= 20 else data[:10] + gap + data[-10:]
            assert excerpt.data() == kept, (length, part)
            assert excerpt.size() == length
            for since in range(0, length, 3):
                left_out = length - 10 - max(since, 10)
                gap = f"\n[{left_out} {LEFT_OUT}]\n".encode() if left_out > 0 else b""
                end = data[max(since, 10, length - 10) :]
                assert excerpt.data(since) == data[since : max(10, since)] + gap + end
            for size in (0, 1, 9, 10):
                assert excerpt.end(size) == data[length - min(size, length) :]
            assert data.endswith(excerpt.end(200)) or length > 20


def test_what_an_emulator_prints_is_kept_in_bounded_memory():
    """Output on stdout and stderr, longer than a pipe holds, is kept in bounded memory."""
    printed, message = "out" * 2_000_000, "err" * 2_000_000
    program = "import sys; sys.stderr.write('err' * 2_000_000); sys.stdout.write('out' * 2_000_000)"
    passed_on: list[int] = []
    stream = Stream(lambda data: passed_on.append(len(data)))
    outcome = emulator_run.run(lambda _: [sys.executable, "-c", program], [stream], NO_LIMITS)
    assert sum(passed_on) == len(printed)
    for kept, whole in ((stream.kept.data().decode(), printed), (outcome.log, message)):
        head, gap, tail = kept.partition(f"\n[{len(whole) - 2 * KEPT:,} {LEFT_OUT}]\n")
        assert gap and whole.startswith(head) and whole.endswith(tail)
        assert len(head) == len(tail) == KEPT


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
