# SPDX-License-Identifier: MIT
"""Tests `ethosu profile MODEL --on qemu`: times, counters and the work of an inference."""

import json

import pytest
from ethosu_tools import boards
from ethosu_tools.answers.profile import measured
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator import qemu
from ethosu_tools.model import make_model
from ethosu_tools.model.samples import wake_words


def profiled(ethosu, *words):
    on = () if "--on" in words else ("--on", "qemu")
    code, out, err = ethosu("profile", *words, *on, "--json", "--count", 3)
    assert code == 0, err
    return json.loads(out, parse_constant=pytest.fail)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_an_emulated_board_repeats_its_figures(ethosu, small_models, compiled, npu):
    path = compiled(small_models["small_cnn"], npu)
    words = path, "--board", "MPS3_AN547"
    data, again = profiled(ethosu, *words), profiled(ethosu, *words)
    assert data == again
    assert data["npu"] == npu and data["count"] == 3 and data["clock_mhz"] == 32
    cycles, spent = data["npu_cycles"], data["cpu_instructions"]
    assert 0 < spent < cycles, "the driver's part is small"
    for key in ("median_ms", "slowest_ms"):
        assert data[key] == pytest.approx((cycles + spent) / 32e3, rel=0.02)
    pmu, busy = data["pmu"], data["work"]["busy"]
    assert pmu["NPU_ACTIVE"] <= cycles
    assert (pmu["MAC_ACTIVE"], pmu["AO_ACTIVE"]) == (busy["MAC"], busy["output"])
    beats = pmu["AXI0_RD_DATA_BEAT_RECEIVED"] + pmu["AXI0_WR_DATA_BEAT_WRITTEN"]
    assert beats > 0 and data["work"]["macs"] > 8 * 8 * 16 * 27
    assert sum(data["work"]["read"].values()) > sum(data["work"]["written"].values()) > 0


def test_a_model_that_others_trained_is_measured_exactly(ethosu):
    """A third-party streaming model, whose variables the CPU copies, is measured exactly."""
    path = wake_words.load("okay_nabu").model
    words = path, "--board", "MPS3_AN547"
    data, again = profiled(ethosu, *words), profiled(ethosu, *words)
    assert data == again and data["npu_cycles"] > data["cpu_instructions"] > 3000
    assert data["work"]["macs"] > 30_000


def test_the_text_names_clock_and_source(ethosu, small_models):
    words = ("profile", small_models["small_cnn"], "--board", "ALIF_ENSEMBLE_E7-M55_HP")
    code, out, _ = ethosu(*words)
    assert code == 0 and "measured" not in out
    assert "ethos-u55-256 at 400 MHz, weights in MRAM, tensors in SRAM" in out
    assert "busy cycles of MAC" in out and "instructions" not in out


def test_a_board_at_a_port_has_a_clock_of_its_own(ethosu, small_models, compiled):
    path = compiled(small_models["small_cnn"], "ethos-u55-128")
    with qemu.Machine(emulated(npu="ethos-u55-128")) as machine:
        Board(machine.port).close()
        data = profiled(ethosu, path, "--on", machine.port)
        assert data["npu_ms"] is None and data["cpu_instructions"] is None
        assert 0 < data["median_ms"] <= data["slowest_ms"] and data["pmu"]["NPU_ACTIVE"] > 0
        named = profiled(ethosu, path, "--on", machine.port, "--board", "MPS3_AN547")
        assert named["npu_ms"] > 0 and named["system"] == "MPS3_AN547"


def test_a_chip_is_refused_by_name_where_a_board_is_needed(ethosu, small_models):
    for words in (("profile", "--on", "qemu"), ("run",)):
        code, _, err = ethosu(*words, small_models["small_cnn"], "--board", "RA8P1")
        assert code in (2, 3) and "RA8P1 is a chip without a board here" in err, err


def test_a_model_that_fills_the_heap_is_profiled(ethosu, tmp_path):
    """The model is loaded only once, since its arena takes two thirds of the heap."""
    net, path = make_model.Net("wide", 1), tmp_path / "wide.tflite"
    path.write_bytes(net.finish(net.conv(net.input((1, 320, 320, 3)), 16, (3, 3), (2, 2))))
    data = profiled(ethosu, path, "--board", "NUMAKER_M55M1")
    assert data["arena"] > 0.6 * boards.load("NUMAKER_M55M1").heap.size


def test_a_first_inference_that_fails_leaves_the_npu_free(
    ethosu, small_models, compiled, monkeypatch
):
    path = compiled(small_models["small_cnn"], "ethos-u55-128")
    failing = measured._PREPARE.replace("run_into()", "run_into([], [])", 1)
    monkeypatch.setattr(measured, "_PREPARE", failing)
    with qemu.Machine(emulated(npu="ethos-u55-128")) as machine:
        code, _, err = ethosu("profile", path, "--on", machine.port)
        assert code == 5 and "ValueError" in err
        with Board(machine.port) as board:
            board.exec("import ethosu\nethosu.reserve(timeout_ms=0).release()")


def test_the_second_npu_of_a_board_is_measured(ethosu, small_models):
    data = profiled(
        ethosu, small_models["small_cnn"], "--board", "ALIF_ENSEMBLE_E8-M55_HP",
        "--npu", "ethos-u85-256",
    )  # fmt: skip
    assert data["npu"] == "ethos-u85-256" and data["npu_cycles"] == data["cycles"]


def test_weights_are_measured_where_the_estimate_has_them(ethosu, small_models):
    words = (small_models["small_cnn"], "--board", "ALIF_ENSEMBLE_E7-M55_HP")
    flash, heap = profiled(ethosu, *words), profiled(ethosu, *words, "--weights", "SRAM")
    assert heap["npu_cycles"] == heap["cycles"] < flash["cycles"] == flash["npu_cycles"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no.tflite"], "no.tflite"),
        (["README.md"], "README.md is neither a TensorFlow Lite model nor"),
        (["docs"], "docs"),
        (["MODEL", "--save", "p.csv"], "--save needs a measurement on a board"),
        (["MODEL", "--input", "in.npz"], "--input is for --operations and --maps"),
        (["MODEL", "--board", "RA8P1", "--on", "qemu"], "RA8P1 is a chip without a board here"),
    ],
)
def test_wrong_arguments_are_one_error(ethosu, repo, small_models, monkeypatch, words, said):
    monkeypatch.chdir(repo)
    words = [small_models["small_cnn"] if word == "MODEL" else word for word in words]
    code, out, err = ethosu("profile", *words)
    assert code in (2, 3) and out == "" and said in err and err.count("\n") == 1
