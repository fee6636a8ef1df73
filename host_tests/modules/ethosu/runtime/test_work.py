# SPDX-License-Identifier: MIT
"""Limits how much work a file can cause, in Cortex-M55 instructions, which are reproducible."""

import struct
import subprocess

import pytest

from host_tests.kit import needs, sharing
from host_tests.modules.ethosu.driver import cbuild

from . import hostile, long_runs

TARGET = "host_tests/modules/ethosu/{}/target"
FOLDERS = ("driver/*", "runtime/*", "runtime/kernels/*", "executorch", "executorch/*")

# Measuring and loading a file takes this many thousand instructions, plus this many per byte.
LOAD_MAX = 10_000
LOAD_MAX_PER_BYTE = 1.5
# Limit of thousands of instructions between two checks for a stop request.
LONGEST = 1_500
STOPPED = 11


def _counter(repo, tmp_path_factory, more=(), name="count"):
    module = repo / "modules/ethosu"
    ours, drivers = (repo / TARGET.format(name) for name in ("runtime", "driver"))
    folders = (
        *(module / name for name in (".", "driver/include", "runtime/include")),
        ours,
        drivers,
    )
    flags = ["-Wall", "-Werror", *(f"-I{path}" for path in folders)]
    script = ["-nostartfiles", "-specs=nano.specs", "-Wl,--gc-sections", "-T", drivers / "cost.ld"]
    options = [word for word in more if not word.endswith(".c")]
    objects = cbuild.target_objects(FOLDERS, *options) if more else cbuild.firmware_objects()
    parts = [*flags, *script, ours / "count.c", *more, *objects]
    command = [*cbuild.CORTEX_M55, *parts, "-lm", "-o"]
    program = sharing.program(name, command)
    machine = ["-M", "mps3-an547", "-display", "none", "-serial", "none", "-monitor", "none"]
    semihosting = ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,chardev=out"]

    def count(model: bytes, *, run: bool = False, stop_after: int = 0) -> dict[str, int | str]:
        path = tmp_path_factory.mktemp("count") / "model"
        path.write_bytes(struct.pack("<4I", len(model), run, stop_after, 0) + model)
        loader = ["-device", f"loader,file={path},addr=0x60000000,force-raw=on"]
        icount = ["-icount", "shift=0,sleep=off", "-kernel", program]
        output = cbuild.run(["qemu-system-arm", *machine, *semihosting, *loader, *icount])
        words = (line.split(maxsplit=1) for line in output.splitlines())
        return {name: int(text) if text.isdigit() else text for name, text in words}

    return count


@pytest.fixture(scope="session")
def counted(repo, tmp_path_factory):
    """Count thousands of instructions for loading and running a file: `counted(file)`."""
    return _counter(repo, tmp_path_factory)


@pytest.fixture(scope="session")
def counted_with_cmsis_nn(repo, tmp_path_factory):
    """Count as `counted` does, with the CMSIS-NN tree that CMSIS_NN_DIR names."""
    folder = needs.tree("CMSIS_NN_DIR", "CMSIS-NN")
    words = "$(CMSIS_NN_USE) $(CMSIS_NN_CFLAGS) $(CMSIS_NN_SRC)"
    tell = f"include modules/ethosu/cmsis_nn.mk\nall:; @echo {words}"
    command = ["make", "-s", "-f", "-", f"CMSIS_NN_DIR={folder}"]
    printed = subprocess.run(
        command, input=tell, cwd=repo, check=True, capture_output=True, text=True
    )
    words = [f"{folder}/Source/{w}" if w.endswith(".c") else w for w in printed.stdout.split()]
    return _counter(repo, tmp_path_factory, words, "count_cmsis_nn")


def check_loading(counted, model):
    counts = counted(model)
    assert counts.get("load", 1e9) <= LOAD_MAX + LOAD_MAX_PER_BYTE * len(model), counts
    assert counts["load_longest"] <= LONGEST, counts


@pytest.mark.parametrize("name", hostile.MUCH_WORK)
def test_loading_is_linear_in_the_bytes_of_the_file(counted, name):
    check_loading(counted, hostile.MUCH_WORK[name]())


@pytest.mark.parametrize("name", long_runs.LONG_RUNS)
def test_a_long_operator_polls_repeatedly(counted, name):
    found = counted(long_runs.LONG_RUNS[name](), run=True, stop_after=20)
    assert found.get("run_longest", 1e9) <= LONGEST, found
    assert found["status"] == (STOPPED if found["questions"] > 20 else 0), found


@pytest.mark.parametrize("name", long_runs.WEIGHTED_RUNS)
def test_cmsis_nn_polls_repeatedly(counted_with_cmsis_nn, name):
    found = counted_with_cmsis_nn(long_runs.WEIGHTED_RUNS[name](), run=True)
    assert found.get("run_longest", 1e9) <= LONGEST, found
    assert found["status"] == 0, found


def test_it_stops_at_the_requested_poll(counted):
    found = counted(long_runs.LONG_RUNS["a large window"](), run=True, stop_after=3)
    assert found["status"] == STOPPED and found["questions"] == 3 + 2, found


@pytest.mark.parametrize("name", hostile.MUCH_WORK)
def test_a_file_that_needs_much_work_is_harmless_in_32_bits(damage, name):
    file = hostile.MUCH_WORK[name]()
    assert damage("load", file, 32) == damage("load", file)
