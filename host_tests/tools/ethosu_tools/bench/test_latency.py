# SPDX-License-Identifier: MIT
"""`ethosu bench MODEL`: times, counters and the work of an inference."""

import json

import pytest
from ethosu_tools import boards, make_model, qemu
from ethosu_tools.bench import latency
from ethosu_tools.board import Board
from ethosu_tools.wakeword import keywords


def measured(ethosu, *words):
    code, out, err = ethosu("bench", *words, "--json", "--count", 3)
    assert (code, err) == (0, "")
    return json.loads(out, parse_constant=pytest.fail)


@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u65-256", "ethos-u85-256"])
def test_an_emulated_board_repeats_its_figures(ethosu, small_models, compiled, npu):
    path = compiled(small_models["small_cnn"], npu)
    data, again = measured(ethosu, path), measured(ethosu, path)
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
    """A streaming one, whose variables the CPU copies."""
    path = keywords.load("okay_nabu").model
    data, again = measured(ethosu, path), measured(ethosu, path)
    assert data == again and data["npu_cycles"] > data["cpu_instructions"] > 3000
    assert data["work"]["macs"] > 30_000


def test_the_text_names_clock_and_source(ethosu, small_models):
    words = ("bench", small_models["small_cnn"], "--board", "ALIF_ENSEMBLE_E7-M55_HP")
    code, out, _ = ethosu(*words, "--on", "sim")
    assert code == 0 and "latency    not measured" in out
    assert "for the NPU at 400 MHz, weights in MRAM, tensors in SRAM" in out
    assert "busy cycles of MAC" in out and "instructions" not in out


def test_a_board_at_a_port_has_a_clock_of_its_own(ethosu, small_models, compiled):
    path = compiled(small_models["small_cnn"], "ethos-u55-128")
    with qemu.Machine("ethos-u55-128") as machine:
        Board(machine.port).close()
        data = measured(ethosu, path, "--on", machine.port)
        assert data["npu_ms"] is None and data["cpu_instructions"] is None
        assert 0 < data["median_ms"] <= data["slowest_ms"] and data["pmu"]["NPU_ACTIVE"] > 0
        named = measured(ethosu, path, "--on", machine.port, "--board", "MPS3_AN547")
        assert named["npu_ms"] > 0 and named["system"] == "MPS3_AN547"


def test_a_model_that_fills_the_heap_is_measured(ethosu, tmp_path):
    """It is loaded only once: this arena takes two thirds of the board's heap."""
    net, path = make_model.Net("wide", 1), tmp_path / "wide.tflite"
    path.write_bytes(net.finish(net.conv(net.input((1, 320, 320, 3)), 16, (3, 3), (2, 2))))
    data = measured(ethosu, path, "--board", "NUMAKER_M55M1")
    assert data["arena"] > 0.6 * boards.load("NUMAKER_M55M1").heap.size


def test_a_first_inference_that_fails_leaves_the_npu_free(
    ethosu, small_models, compiled, monkeypatch
):
    path = compiled(small_models["small_cnn"], "ethos-u55-128")
    failing = latency._PREPARE.replace("run_into()", "run_into([], [])", 1)
    monkeypatch.setattr(latency, "_PREPARE", failing)
    with qemu.Machine("ethos-u55-128") as machine:
        code, _, err = ethosu("bench", path, "--on", machine.port)
        assert code == 5 and "ValueError" in err
        with Board(machine.port) as board:
            board.exec("import ethosu\nethosu.reserve(timeout_ms=0).release()")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["mlperf"], "'mlperf' is neither a file nor a benchmark; benchmarks are growth, latency"),
        (["no.tflite"], "'no.tflite' is neither a file nor a benchmark"),
        (["latency", "no.tflite"], "no.tflite"),
        (["README.md"], "README.md is neither a TensorFlow Lite model nor"),
        (["docs"], "docs"),
        (["README.md", "--save", "p.csv"], "--save needs a measurement on a board"),
    ],
)
def test_wrong_arguments_are_one_error(ethosu, repo, monkeypatch, words, said):
    monkeypatch.chdir(repo)
    code, out, err = ethosu("bench", *words)
    assert code in (2, 3) and out == "" and said in err and err.count("\n") == 1
