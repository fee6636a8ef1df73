# SPDX-License-Identifier: MIT
"""Linux's driver and tools/sim_accel reject the same calls with the same errors."""

import ctypes as c
import errno

import pytest

from host_tests.kit import sharing
from host_tests.linux.machine import HERE

# The errors of Linux 7.3.
EXPECTED = {
    "query": 0,
    "stream empty": errno.EINVAL,
    "stream without stop": errno.EINVAL,
    "stream": 0,
    "stream with flags": errno.EINVAL,
    "stream with two stops": errno.EINVAL,
    "stream with resize": errno.EINVAL,
    "job": 0,
    "job, one buffer twice": errno.EALREADY,
    "job without a region": errno.ENOENT,
    "job, unknown buffer": errno.ENOENT,
    "job, buffer too small": errno.EOVERFLOW,
    "job, region not used": errno.EINVAL,
    "job, stream as buffer": errno.EINVAL,
    "job, buffer as stream": errno.EINVAL,
    "job, unknown stream": errno.ENOENT,
    "job, SRAM": 0,
    "job, region 2 a buffer": 0,
    "job, SRAM and buffer": errno.EINVAL,
    "job, SRAM too large": errno.EINVAL,
    "job, beyond SRAM": errno.EINVAL,
    "job, unknown perfmon": 0,
    "wait": 0,
    "query of an unknown kind": errno.EINVAL,
    "buffer of 0 bytes": errno.EINVAL,
    "place of an unknown buffer": errno.ENOENT,
    "wait for an unknown buffer": errno.EINVAL,
    "close an unknown buffer": errno.EINVAL,
    "perfmon of 9 events": errno.EINVAL,
    "values of an unknown perfmon": errno.EINVAL,
}


def test_the_simulated_device_refuses_as_linux_does():
    sharing.make("tools/sim_accel")
    library = sharing.BUILD / "sim_accel/libethosu_accel.so"
    module = sharing.REPO / "modules/ethosu"
    folders = module, module / "driver/include", module / "accel", HERE
    command = [
        *("gcc", "-std=gnu11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"),
        *('-DETHOSU_ADDED_ERRORS="accel_errors.def"', *(f"-I{folder}" for folder in folders)),
        *(HERE / "refusals.c", "-o"),
    ]
    errors = {}
    report = c.CFUNCTYPE(None, c.c_char_p, c.c_int)(
        lambda name, error: errors.__setitem__(name.decode(), error)
    )
    kernel = c.CDLL(str(library))
    kernel.sim_accel_calls.restype = c.c_void_p
    kernel.sim_accel_set_up(b"ethos-u65-256", c.c_size_t(384 << 10))
    calls = c.c_void_p(kernel.sim_accel_calls())
    c.CDLL(str(sharing.program("refusals.so", command))).refusals(
        calls, b"/dev/accel/accel0", report
    )
    assert errors == EXPECTED
    assert kernel.sim_accel_open_files() == 0


@pytest.mark.slow
def test_linux_rejects_the_same(linux, tmp_path):
    assert linux.boot(tmp_path, "ethos-u65-256", {}, "refusals").errnos() == EXPECTED
