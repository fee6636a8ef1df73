# SPDX-License-Identifier: MIT
"""Kernel errors, lost and late jobs each give one error message, and the next run is right.

ioctls by number: 0x40 query, 0x41 buffer, 0x42 wait, 0x43 offset of a buffer, 0x44
stream, 0x45 submit.
"""

import asyncio
import errno
import re

import numpy as np
import pytest
from ethosu_tools import Model
from ethosu_tools.addons.linux import accel
from ethosu_tools.base import library
from ethosu_tools.base.errors import BoardError, InputError, SetupError
from ethosu_tools.model.make_model import Net

from host_tests.kit import sharing
from host_tests.kit.models.reference_cases import assert_exact

NPU = "ethos-u65-256"
FIRST = 101  # of the errors of this path; those of the driver, which get new ones, are below
LATE_MS = 30


@pytest.fixture
def model(kernel, case, compiled):
    """Load the small model on the device."""
    with Model(compiled(case.model, NPU), on="accel", timeout_ms=LATE_MS) as model:
        yield model


def check(model, case):
    """Check that the model's result equals TFLite's."""
    assert_exact(case, map(model.predict, case.inputs))


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (0x40, errno.EACCES, r"can't be opened \(errno 13\)"),
        (0x41, errno.ENOMEM, r"could not allocate 32 bytes for the NPU \(errno 12\): .* CMA"),
        (0x43, errno.EINVAL, r"could not allocate 32 bytes for the NPU \(errno 22\)"),
    ],
)
def test_failures_to_open_are_reported(kernel, case, compiled, number, error, message):
    kernel.fail(number, error)
    with pytest.raises(BoardError, match=message):
        Model(compiled(case.model, NPU), on="/dev/accel/accel0")
    assert (kernel.open_files, kernel.buffers) == (0, 0)


def rows(repo) -> dict[int, tuple[str, str]]:
    """Return number, errno, and the message's first words before any field, of each error."""
    module = repo / "modules/ethosu"
    tables = module / "driver/include/ethosu_errors.def", module / "accel/accel_errors.def"
    table = "".join(path.read_text() for path in tables)
    row = r'^ETHOSU_EXT_ERROR\((\d+), \w+, (\w+),[^")]*(?:"(?:%\w)?([^"%]*))?'
    return {
        int(number): (name, text) for number, name, text in re.findall(row, table, re.MULTILINE)
    }


def test_errors_of_this_path_have_numbers_of_their_own(kernel, repo):
    """Error numbers are part of the interface, so a new error of the driver must not shift them."""
    errors = rows(repo)
    own = sorted(number for number in errors if number >= FIRST)
    assert own and own == list(range(FIRST, FIRST + len(own)))
    driver = accel.load()
    text = library.ffi().new("char[256]")
    fault = library.ffi().new("struct ethosu_ext_fault *")
    for number in range(1, FIRST + 20):
        fault.code = -number
        driver.ethosu_ext_describe(fault, text, len(text))
        said = library.ffi().string(text).decode()
        name, words = errors.get(number, (None, "no error"))
        assert words in said and (name or said == words), number
        assert driver.ethosu_ext_errno(-number) == (getattr(errno, name) if name else 0), number


def test_a_missing_device_is_reported(kernel, case, compiled):
    with pytest.raises(BoardError, match=r"/dev/accel/none: Linux's driver .* \(errno 2\)"):
        Model(compiled(case.model, NPU), on="/dev/accel/none")


def test_a_stream_that_the_kernel_refuses(kernel, case, compiled):
    kernel.fail(0x44, errno.EINVAL)
    message = r"Linux's driver rejected the command stream \(errno 22\)"
    with pytest.raises(InputError, match=message):
        Model(compiled(case.model, NPU), on="accel")


def resize() -> bytes:
    """Make a graph for which Vela uses the RESIZE of Ethos-U85."""
    net = Net("resize", 1)
    x = net.input((1, 5, 5, 8))
    y = net._like(x, "resized", (1, 9, 7, 8))
    size = net._integers("size", (9, 7))
    options = (
        "RESIZE_NEAREST_NEIGHBOR",
        [x.tensor, size],
        [y.tensor],
        "ResizeNearestNeighborOptions",
    )
    net.graph.operator(*options)
    return net.finish(y)


def test_resize_is_refused_by_the_kernel(kernel, compiled, tmp_path):
    kernel.set_up("ethos-u85-256")
    source = tmp_path / "resize.tflite"
    source.write_bytes(resize())
    with pytest.raises(InputError, match="Linux's driver rejected the command stream"):
        Model(compiled(source, "ethos-u85-256"), on="accel")


@pytest.mark.parametrize("other", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
def test_a_model_for_another_npu(kernel, case, compiled, other):
    with pytest.raises(InputError, match=f"compiled for {other}, the NPU is {NPU}"):
        Model(compiled(case.model, other), on="accel")


@pytest.mark.parametrize(
    ("number", "error", "message"),
    [
        (0x45, errno.EOVERFLOW, r"rejected the command stream \(errno 75\)"),
        (0x42, errno.EIO, r"failed to wait for the NPU \(errno 5\)"),
    ],
)
def test_a_failed_call_is_reported_and_the_next_succeeds(
    kernel, case, model, number, error, message
):
    kernel.fail(number, error)
    with pytest.raises(OSError, match=message):
        model.predict(case.inputs[0])
    check(model, case)


@pytest.mark.parametrize("number", [0x42, 0x45])
def test_a_signal_interrupts_nothing(kernel, case, model, number):
    kernel.fail(number, errno.EINTR)
    check(model, case)


def test_a_killed_job_is_detected(kernel, case, model):
    check(model, case)
    for _ in range(2):
        kernel.drop(1)
        with pytest.raises(OSError, match="did not reach the end of the command stream") as info:
            model.predict(case.inputs[0])
        assert info.value.errno == errno.EIO
        check(model, case)


def test_a_late_job_is_abandoned_and_the_next_waits_for_it(kernel, case, model):
    kernel.hold(True)
    with pytest.raises(TimeoutError, match=f"longer than {LATE_MS} ms, and Linux"):
        model.predict(case.inputs[0])
    with pytest.raises(OSError, match="an inference is running") as info:
        model.predict(case.inputs[0])
    assert info.value.errno == errno.EBUSY
    kernel.hold(False)
    check(model, case)


def test_a_model_is_closed_while_its_job_runs(kernel, case, compiled):
    kernel.hold(True)
    path = compiled(case.model, NPU)
    with pytest.raises(TimeoutError), Model(path, on="accel", timeout_ms=LATE_MS) as model:
        model.predict(case.inputs[0])
    assert (kernel.open_files, kernel.buffers) == (0, 0)


def test_tasks_wait_for_the_npu_and_others_run(kernel, case, compiled):
    path = compiled(case.model, NPU)

    async def together(first, second):
        kernel.hold(True)
        jobs = [asyncio.create_task(model.run(case.inputs[0])) for model in (first, second, first)]
        await asyncio.sleep(0.01)
        assert not any(job.done() for job in jobs)
        kernel.hold(False)
        return await asyncio.gather(*jobs)

    with Model(path, on="accel") as first, Model(path, on="accel") as second:
        for outputs in asyncio.run(together(first, second)):
            np.testing.assert_array_equal(outputs[0], case.outputs[0][0])


def test_a_task_gets_its_time_out(kernel, case, model):
    kernel.hold(True)
    with pytest.raises(TimeoutError):
        asyncio.run(model.run(case.inputs[0]))
    kernel.hold(False)
    check(model, case)


def test_a_task_that_is_cancelled_leaves_the_model_usable(kernel, case, model):
    async def cancelled():
        task = asyncio.create_task(model.run(case.inputs[0]))
        await asyncio.sleep(0)
        kernel.hold(True)
        task.cancel()
        kernel.hold(False)
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    check(model, case)


def test_a_missing_device_is_named(compiled, small_models, monkeypatch, tmp_path):
    path = compiled(small_models["small_cnn"], NPU)
    sharing.make("modules/ethosu/accel")
    monkeypatch.setattr(accel, "FOLDER", tmp_path)
    with pytest.raises(SetupError, match="Linux has found no NPU here"):
        Model(path, on="accel")
    monkeypatch.undo()
    with pytest.raises(BoardError, match=r"/dev/accel/accel77: Linux's driver for the NPU can't"):
        Model(path, on="/dev/accel/accel77")
