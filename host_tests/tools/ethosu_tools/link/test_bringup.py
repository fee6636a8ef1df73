# SPDX-License-Identifier: MIT
"""`ethosu doctor PORT` passes on each emulated board; a fault fails the check for it."""

import dataclasses
import json
import re
from functools import partial

import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.facts import Span
from ethosu_tools.boards.setup import emulated
from ethosu_tools.commands import doctor as command
from ethosu_tools.link import bringup
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator.qemu import Machine

from host_tests.kit import firmware_image, matrix
from host_tests.kit.lines.fake_board import FakeBoard
from host_tests.kit.stand_ins import Echo

EMULATED = [name for name in boards.names() if boards.load(name).qemu]
BY_NAME = {check.name: check for check in bringup.CHECKS}


@pytest.fixture
def bring_up(ethosu, monkeypatch):
    """Run `ethosu doctor PORT` on an emulated board; time-outs count the emulator's time."""

    def run(machine, *words):
        # With a port alone, the host's time would count, and attempts for the prompt last 1 s each.
        monkeypatch.setattr(command, "Board", partial(Board, process=machine.process))
        return ethosu("doctor", machine.port, "--json", *words)

    return run


# One board per core of each chip suffices; test_every_board.py runs on all boards.
QUICK = matrix.one_of_each(EMULATED, lambda name: (boards.load(name).core, boards.load(name).npus))


@pytest.mark.parametrize("name", matrix.cases(EMULATED, QUICK))
def test_every_emulated_board_passes(bring_up, name):
    """All emulated boards pass; only one uses its UART, which is slow."""
    console = "uart" if name == boards.DEFAULT else "fast"
    with Machine(emulated(name, console=console)) as machine:
        code, out, err = bring_up(machine, "--board", name)
    data = json.loads(out)
    assert (code, err) == (0, ""), data
    assert [each["state"] for each in data["checks"]] == [bringup.OK] * len(bringup.CHECKS)


@pytest.fixture(scope="module")
def machine():
    with Machine() as machine:
        yield machine


def chain(name):
    """Return a check and its prerequisites, in order."""
    check = BY_NAME[name]
    return [*(chain(check.needs) if check.needs else []), check]


@pytest.fixture
def failing(machine, monkeypatch):
    """Run a check after code that breaks it: `failing(name, code)` returns the outcome."""

    def run(name, code="", **changes):
        *before, last = chain(name)
        monkeypatch.setattr(bringup, "CHECKS", [*before, last])
        board = Board(machine.port, process=machine.process)
        outcomes = bringup.run(lambda: board, dataclasses.replace(machine.board, **changes))
        assert {next(outcomes).state for _ in before} <= {bringup.OK}
        board.exec(code)
        (outcome,) = outcomes
        return outcome

    return run


FAULT = "import emulator\nemulator.fault({!r})\n"


@pytest.mark.parametrize(
    ("name", "code", "found", "advice"),
    [
        (
            *("npu", "import ethosu, sys\nsys.modules['ethosu'] = sys\n"),
            *("AttributeError", r"power is off.*npu_registers.*board\.toml"),
        ),
        (
            *("interrupt", FAULT.format("npu.irq-lost")),
            *("finished, but no interrupt came", "interrupts"),
        ),
        ("interrupt", FAULT.format("npu.hang"), "took longer than", "has no clock"),
        ("interrupt", FAULT.format("npu.bus-error"), "bus error", "`npu_address`"),
        ("memory", FAULT.format("npu.bus-error"), "bus error", "`masters`"),
        ("selftest", FAULT.format("npu.parse-error"), "NPU stopped", "AXI"),
        (
            *("copy", FAULT.format("dma.bus-error")),
            *("the CPU had to repeat copies: {'errors': 1}", "The controller has no clock"),
        ),
        (
            *("copy", FAULT.format("dma.irq-lost")),
            *("the CPU had to repeat copies: {'timeouts': 1}", "interrupt does not arrive"),
        ),
        ("root", "import vfs\nvfs.umount('/')\n", "OSError", "flash of /"),
        (
            # A byte near the end of each stack.
            *("stacks", "import uctypes\nuctypes.bytearray_at({stack}, 400)[399] = 0\n"),
            *("bytes of the main stack used, expected 512", "STACK_SIZE"),
        ),
        (
            *("stacks", "import uctypes\nuctypes.bytearray_at({handler}, 512)[508] = 0\n"),
            *("bytes of the interrupts' stack used, expected 512", "HANDLER_STACK_SIZE"),
        ),
    ],
)
def test_a_fault_fails_its_check_and_gets_the_advice_for_it(
    failing, machine, name, code, found, advice
):
    image = firmware_image.of()
    places = {"{stack}": "_stack_limit", "{handler}": "_handler_stack_limit"}
    for place, symbol in places.items():
        code = code.replace(place, str(image.symbol(symbol)))
    outcome = failing(name, code)
    assert (outcome.check.name, outcome.state) == (name, bringup.FAILED)
    assert found in outcome.found
    meaning, others = outcome.as_dict()["meaning"], [*outcome.check.advice.values()]
    assert re.search(advice, meaning), meaning
    assert meaning in (*others, " ".join(others))
    machine.reset()


def test_memory_that_the_npu_does_not_reach_gets_advice_on_the_heap(machine):
    in_dtcm = bringup._STOP.replace("[]", "[__import__('uctypes').bytearray_at(0x20008000, 32)]")
    with Board(machine.port) as board, pytest.raises(RemoteError) as caught:
        board.ask(in_dtcm)
    outcome = bringup.Outcome(BY_NAME["interrupt"], bringup.FAILED, str(caught.value))
    assert "is in memory that the NPU can't see" in outcome.found
    assert "heap" in outcome.as_dict()["meaning"]
    assert "interrupts" not in outcome.as_dict()["meaning"]


def test_a_missing_npu_fails_its_check_and_skips_those_that_need_it(bring_up):
    with Machine(plugin_options=["fault=dead:1000"]) as machine:
        code, out, err = bring_up(machine)
    states = {each["name"]: each["state"] for each in json.loads(out)["checks"]}
    assert code == 5 and "1 of 11 checks failed: npu" in err
    assert [name for name in states if states[name] == bringup.NOT_RUN] == [
        *("interrupt", "memory", "selftest")
    ]


def test_a_different_board_is_detected(failing):
    other = Span(0x1000, 0x1000)
    found = failing("rom", romfs=other).found
    assert found.startswith("this is the firmware of MPS3-AN547: /rom is at ")
    assert found.endswith("the board.toml of MPS3_AN547 expects 0x1000")
    facts = {"qemu": None, "npus": ("ethos-u55-256",)}
    outcome = failing("npu", **facts)
    assert outcome.found.startswith("this is the firmware of MPS3-AN547: the NPU is ethos-u55-128")
    assert "the board.toml of MPS3_AN547 expects ethos-u55-256" in outcome.found
    assert "correct that option" in outcome.as_dict()["meaning"]


def test_a_flash_that_does_not_answer_fails_the_check_of_rom():
    """A flash that does not answer, so that registers appear instead, is no empty ROM."""
    options = ["fault=flash.dead"]
    with Machine(emulated("GROVE_VISION_AI_V2"), plugin_options=options) as machine:
        facts = boards.load("GROVE_VISION_AI_V2")
        outcomes = {
            each.check.name: each for each in bringup.run(lambda: Board(machine.port), facts)
        }
    failed = [name for name, each in outcomes.items() if each.state == bringup.FAILED]
    assert failed == ["rom"]
    assert outcomes["rom"].found == "the memory of /rom does not answer: rom_ioctl(2, 0) is -19"
    assert "not set up" in outcomes["rom"].as_dict()["meaning"]


def test_a_lost_ctrl_c_is_detected(failing, monkeypatch):
    monkeypatch.setattr(Board, "inject", lambda *_: None)
    monkeypatch.setattr(bringup, "_STOP_TIMEOUT_S", 0.3)  # in a busy emulator's time
    assert "running code" in failing("ctrl-c").found


def test_a_missing_reset_is_detected(failing, monkeypatch):
    monkeypatch.setattr(Board, "reset", Board.interrupt)
    assert failing("reset").found == "machine.reset() had no effect"


@pytest.mark.parametrize(
    ("port", "meaning"),
    [
        (partial(FakeBoard, "silent"), "baud rate of the UART"),
        (partial(FakeBoard, ("says", bytes(range(128, 256)))), "Unreadable characters"),
        (Echo, "TX and RX are connected"),
    ],
)
def test_a_port_without_a_prompt_ends_with_the_first_check(port, meaning):
    with port() as fake:
        outcomes = list(bringup.run(lambda: Board(fake.port, boot_timeout=1)))
    assert [each.state for each in outcomes] == [bringup.FAILED] + [bringup.NOT_RUN] * 10
    assert meaning in outcomes[0].as_dict()["meaning"]


def test_a_port_that_cannot_be_opened_ends_with_the_first_check(ethosu):
    code, out, err = ethosu("doctor", "/dev/null/none")
    assert code == 5 and "1 of 11 checks failed: prompt" in err
    assert "The board could not be reached" in out
