# SPDX-License-Identifier: MIT
"""One emulated board with two NPUs for all tests in this folder, on each release of QEMU."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import matrix, needs
from host_tests.kit.models import reference_cases
from host_tests.tools.qemu_plugin import releases

NPUS = ("ethos-u55-256", "ethos-u55-128")
MODEL = "small_cnn"

# Runs the raw command stream of an NPU: start(0), then wait(0) or wait(1).
_HANDLES = """
import gc, uctypes
class Job:
    def __init__(self, index, scratch_size, input_at, output_at):
        self.npu = ethosu.reserve(npu=index)
        self.payload = open("/payload%d" % index, "rb").read()
        self.weights = open("/weights%d" % index, "rb").read()
        store = bytearray(scratch_size + 32)
        skip = -uctypes.addressof(store) % 32
        self.scratch = memoryview(store)[skip:skip + scratch_size]
        self.input_at, self.output_at = input_at, output_at
    def start(self):
        self.scratch[self.input_at:self.input_at + len(x)] = x
        self.scratch[self.output_at:self.output_at + len(golden)] = bytes(len(golden))
        self.npu.invoke_async(self.payload, [self.weights, self.scratch, self.scratch])
    def wait(self, timeout_ms=1000):
        self.npu.wait(timeout_ms=timeout_ms)
        return bytes(self.scratch[self.output_at:self.output_at + len(golden)]) == golden
    def run(self):
        self.start()
        return self.wait()
    def running(self):
        return machine.mem32[(0x48102004, 0x48104004)[jobs.index(self)]] & 1
"""


def _start(program: Path) -> Iterator[QemuBoard]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETHOSU_QEMU", str(program))
        machine = Machine(emulated(npu=NPUS[0], npu1=NPUS[1]))
    with QemuBoard(machine) as board:
        yield board


@pytest.fixture(scope="session")
def installed() -> Iterator[QemuBoard]:
    yield from _start(releases.installed())


@pytest.fixture(
    scope="session", params=matrix.cases(releases.ALL, {releases.INSTALLED, releases.NEWEST})
)
def on_qemu(request: pytest.FixtureRequest) -> Iterator[QemuBoard]:
    yield from _start(needs.qemu(request.param))


def _fresh(board: QemuBoard) -> QemuBoard:
    board.soft_reset()
    board.exec("import dma, emulator, ethosu, machine\ndma.enable(True)")
    return board


@pytest.fixture
def two_npus(installed: QemuBoard) -> QemuBoard:
    """Return the board on the installed QEMU, after a soft reset."""
    return _fresh(installed)


@pytest.fixture
def each(on_qemu: QemuBoard) -> QemuBoard:
    """Return the board on every release of QEMU, after a soft reset."""
    return _fresh(on_qemu)


@pytest.fixture(scope="session")
def case(small_models: dict[str, Path]) -> reference_cases.Case:
    """Input and expected output of the model."""
    return reference_cases.make_case(small_models[MODEL], 1, extremes=False)


def put_case(board: QemuBoard, case: reference_cases.Case) -> None:
    board.exec(
        f"x = bytearray({case.inputs[0][0].tobytes()!r})\ngolden = {case.outputs[0][0].tobytes()!r}"
    )


@pytest.fixture(scope="session")
def load(compiled: Callable[..., Path], case: reference_cases.Case) -> Callable[[QemuBoard], None]:
    """Load a model on a board as `m`; `right()` tells whether its result is exact."""

    def put(board: QemuBoard, case: reference_cases.Case = case) -> None:
        board.write_file("/m.tflite", compiled(case.model, NPUS[0]).read_bytes())
        board.exec("m = ethosu.Model('/m.tflite', timeout_ms=500)")
        board.exec("def right(): return bytes(m.predict([x])[0]) == golden")
        put_case(board, case)

    return put


@pytest.fixture(scope="session")
def jobs(
    vela: Callable[..., Path],
    small_models: dict[str, Path],
    case: reference_cases.Case,
) -> Callable[[QemuBoard], None]:
    """Define `jobs` on a board: one command stream of the model for each NPU."""
    streams = []
    for npu in NPUS:
        options = ["--output-format", "raw", "--accelerator-config", npu]
        streams.append(np.load(vela(small_models[MODEL], *options)))

    def put(board: QemuBoard) -> None:
        put_case(board, case)
        board.exec(_HANDLES + "jobs = []")
        for index, raw in enumerate(streams):
            board.write_file(f"/payload{index}", raw["cmd_data"].tobytes())
            board.write_file(f"/weights{index}", raw["weight_data"].tobytes())
            places = raw["scratch_shape"], raw["input_offset"], raw["output_offset"]
            numbers = ", ".join(str(int(place[0])) for place in places)
            board.exec(f"jobs.append(Job({index}, {numbers}))")

    return put
