# SPDX-License-Identifier: MIT
"""Three NPU generations with one firmware image: an Ethos-U85 plus a U55 or a U65."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.debug import decode
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import board_models
from host_tests.kit.models import reference_cases
from host_tests.tools.qemu_plugin import releases

from .conftest import put_case
from .test_faults import EIO
from .test_faults import FAULTS as OLD_FAULTS

U85 = "ethos-u85-256"
PAIRS = [("ethos-u55-128", U85), (U85, "ethos-u65-512")]
MODEL = "small_cnn"
# Ethos-U55 and U65 lack the last of these events.
EVENTS = [0x11, 0x20, 0x23, 0x30, 0x40, 0x50, 0x82, 0x29F]

SHARED_FAULTS = ("irq-lost", "hang", "bus-error", "parse-error", "ecc-error", "reset-stuck")
FAULTS = {name: OLD_FAULTS[name] for name in SHARED_FAULTS} | {
    "branch-error": (["branch-error"], EIO, "branch out of range (STATUS 0x"),
}


@dataclass(frozen=True)
class Pair:
    """A board with two NPUs; `m[0]` and `m[1]` are loaded on them, each with its own config."""

    board: QemuBoard
    npus: tuple[str, str]

    @property
    def u85(self) -> int:
        """Index of the Ethos-U85."""
        return self.npus.index(U85)


@pytest.fixture(scope="module", params=PAIRS, ids="+".join)
def machine(request: pytest.FixtureRequest) -> Iterator[Pair]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ETHOSU_QEMU", str(releases.installed()))
        started = Machine(emulated(npu=request.param[0], npu1=request.param[1]))
    with QemuBoard(started) as board:
        yield Pair(board, request.param)


@pytest.fixture
def pair(
    machine: Pair,
    small_models: dict[str, Path],
    compiled: Callable[..., Path],
    case: reference_cases.Case,
) -> Pair:
    """Load one model per NPU after a soft reset; `right(i)` tells whether a result is exact."""
    board = machine.board
    board.soft_reset()
    board.exec("import emulator, ethosu\nm = [None, None]")
    for index, npu in reversed([*enumerate(machine.npus)]):
        board.write_file(f"/m{index}.tflite", compiled(small_models[MODEL], npu).read_bytes())
        board.exec(f"m[{index}] = ethosu.Model('/m{index}.tflite', timeout_ms=500)")
    put_case(board, case)
    board.exec("def right(i): return bytes(m[i].predict([x])[0]) == golden")
    return machine


def test_each_model_finds_its_own_npu(pair):
    assert pair.board.eval("ethosu.npus()") == list(pair.npus)
    assert pair.board.eval("[model.npu for model in m]") == [0, 1]
    assert pair.board.eval("[right(i) for i in (0, 1, 1, 0, 0, 1)]") == [True] * 6


def test_tasks_on_both_do_not_wait_for_each_other(pair):
    """Inferences run on both NPUs; when one hangs, the other keeps working."""
    board = pair.board
    board.exec(
        "import asyncio\n"
        "async def go(model):\n"
        "    for _ in range(20): assert bytes((await model.run([x]))[0]) == golden\n"
        "    return 20\n"
        "async def both(): return await asyncio.gather(*(go(model) for model in m))\n"
        "async def one():\n"
        "    emulator.fault('npu.hang')\n"
        "    stuck = asyncio.create_task(m[0].run([x]))\n"
        "    await asyncio.sleep_ms(0)\n"
        "    count = 0\n"
        "    while not stuck.done(): count += bytes((await m[1].run([x]))[0]) == golden\n"
        "    try: await stuck\n"
        "    except OSError as error: return count > 3, error.errno\n"
    )
    assert board.eval("asyncio.run(both())", timeout=60) == [20, 20]
    board.exec("ended = asyncio.run(one())", timeout=60)
    assert board.eval("ended") == (True, 110)
    assert board.eval("[right(i) for i in (0, 1)]") == [True, True]


def test_model_for_neither_npu_is_rejected(pair, small_models, compiled):
    other = "ethos-u85-512"
    pair.board.write_file("/other.tflite", compiled(small_models[MODEL], other).read_bytes())
    error = board_models.raised(pair.board, "ethosu.Model('/other.tflite')")
    assert error.startswith(f"ValueError model was compiled for {other}, the NPU is ethos-u")
    assert error.endswith(f"; NPUs of this board: {', '.join(pair.npus)}")


def test_model_on_a_handle_of_the_other_npu_is_rejected(pair, small_models, compiled):
    """reserve() takes the first NPU; the message names the one to reserve instead."""
    pair.board.exec("n = ethosu.reserve()")
    error = board_models.raised(pair.board, "ethosu.Model('/m1.tflite', npu=n)")
    assert f"compiled for {pair.npus[1]}, the NPU is {pair.npus[0]}; " in error
    (found,) = decode.decode(error, compiled(small_models[MODEL], pair.npus[1]))
    assert found.cause == f"compiled for {pair.npus[1]}, but loaded on the board's {pair.npus[0]}"
    assert found.advice.endswith(f"npu='{pair.npus[1]}'")
    pair.board.exec(
        "n.release()\nn = ethosu.reserve(npu=m[1].npu)\nk = ethosu.Model('/m1.tflite', npu=n)"
    )
    assert pair.board.eval("bytes(k.predict([x])[0]) == golden")


def test_each_npu_has_its_number_of_event_counters(pair):
    """U85 has eight counters, the other four; all can be used while results stay exact."""
    for index, count in ((pair.u85, 8), (1 - pair.u85, 4)):
        name = pair.npus[index]
        events = EVENTS[-count:] if count == 8 else EVENTS[:count]
        pair.board.exec(
            f"n = ethosu.reserve(npu={name!r})\n"
            f"model = ethosu.Model('/m{index}.tflite', npu=n)\n"
            f"with n.pmu(*{events}) as p: exact = bytes(model.predict([x])[0]) == golden\n"
        )
        assert pair.board.eval("exact")
        counts = pair.board.eval("[p[i] for i in range(len(p))]")
        assert len(counts) == count
        assert counts[events.index(0x23)] > 0, "the NPU was active"
        assert counts[events.index(0x30)] > 0, "so were its MACs"
        error = board_models.raised(pair.board, f"n.pmu(*{[0x11] * (count + 1)})")
        assert error == f"ValueError {count + 1} events given, the NPU counts {count}"
        pair.board.exec("model.deinit()\nn.release()")
    name = pair.npus[1 - pair.u85]
    error = board_models.raised(pair.board, f"ethosu.reserve(npu={name!r}).pmu(0x29F)")
    assert error == "ValueError this NPU has no PMU event 0x29f"


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_of_u85(pair, fault):
    """The error names the fault, the next inference is exact, and the other NPU is unaffected."""
    names, errno, words = FAULTS[fault]
    device = ("npu", "npu1")[pair.u85]
    for name in names:
        pair.board.exec(f"emulator.fault('{device}.{name}')")
    error = board_models.raised(pair.board, f"m[{pair.u85}].predict([x])")
    assert error.startswith(f"OSError {errno} "), error
    assert words in error
    assert pair.board.eval("[right(i) for i in (0, 1, 1, 0)]") == [True] * 4


@pytest.mark.parametrize("machine", PAIRS[:1], ids="+".join, indirect=True)
def test_reset_restores_variables_initialised_by_the_npu(pair, small_models, compiled):
    """On U85 a separate command stream initialises variables, also after a failure."""
    case = reference_cases.make_case(small_models["small_streaming"], 4, extremes=False)
    steps = [
        (row[0].tobytes(), out[0].tobytes())
        for row, out in zip(case.inputs, case.outputs, strict=True)
    ]
    board_models.load(pair.board, compiled(case.model, U85), "s")
    pair.board.exec(f"steps = {steps!r}")
    run = "[bytes(s.predict([bytearray(a)])[0]) == b for a, b in steps]"
    assert pair.board.eval(run) == [True] * 4
    assert pair.board.eval(run) != [True] * 4, "they keep their values"
    pair.board.exec("s.reset()")
    assert pair.board.eval(run) == [True] * 4
    pair.board.exec("s.reset()\nemulator.fault('npu1.bus-error')")
    error = board_models.raised(pair.board, "s.predict([bytearray(steps[0][0])])")
    assert error.startswith(f"OSError {EIO} ")
    assert pair.board.eval(run) == [True] * 4
    assert pair.board.eval("s.info()['npu_calls']") == 1
