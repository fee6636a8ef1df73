# SPDX-License-Identifier: MIT
"""Tests latency: systems, intervals, bounds, and the points to compare with."""

import csv
import dataclasses
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest
from ethosu_tools import boards
from ethosu_tools.answers import answer, cpu, points, text
from ethosu_tools.base.errors import InputError, SetupError, UsageError
from ethosu_tools.boards import systems
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import vela
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import LATENCY, ModelFile, romfs
from ethosu_tools.model.make_model import NONE, Net
from ethosu_tools.model.tflite import metadata
from ethosu_tools.sim import figures, latency

from host_tests.kit.models import mixed_models

MINE = """\
[System_Config.Slow]
core_clock=100e6
axi0_port=Sram
axi1_port=OffChipFlash
Sram_clock_scale=0.5
Sram_burst_length=16
Sram_read_latency=10
Sram_write_latency=20
OffChipFlash_clock_scale=0.25
[System_Config.Slower]
inherit=System_Config.Slow
Sram_clock_scale=0.125
"""


@pytest.fixture
def small_cnn(compiled, small_models):
    return compiled(small_models["small_cnn"])


def test_every_board_and_chip_has_an_estimate():
    for name in systems.names():
        system = systems.find(name)
        assert system.clock_hz >= 32e6
        found = 0
        for memory, regions in system.memories:
            widest = 32 if system.npu.startswith("ethos-u85") else 16  # its two ports
            assert 0 < memory.bytes_per_cycle <= widest and memory.burst > 0, name
            assert not found & regions
            found |= regions
        assert found == 0xFF, "each region is in one memory"


def test_a_file_of_velas_is_read_with_what_it_inherits(tmp_path):
    path = tmp_path / "mine.ini"
    path.write_text(MINE)
    slow, slower = (
        systems.custom("ethos-u55-128", path, name, "Shared_Sram") for name in ("Slow", "Slower")
    )
    assert slow.tensors.bytes_per_cycle == 4 and slower.tensors.bytes_per_cycle == 1
    for system in (slow, slower):
        assert (system.tensors.read_latency, system.tensors.write_latency) == (10, 20)
        assert system.weights.bytes_per_cycle == 2 and system.clock_hz == 100e6
    assert systems.custom("ethos-u65-256", path, "Slow", "Shared_Sram").tensors.bytes_per_cycle == 8
    with pytest.raises(
        InputError, match=r"section \[System_Config.Fast\] is missing; found .*Slow, Slower"
    ):
        systems.custom("ethos-u55-128", path, "Fast", "Shared_Sram")
    path.write_text("core_clock")
    with pytest.raises(InputError, match="is not a Vela configuration file"):
        systems.custom("ethos-u55-128", path, "Slow", "Shared_Sram")


# Values after `inherit=System_Config.Slow`, and the error message.
WRONG = {
    "core_clock=fast": "core_clock is 'fast', expected a number of at least 1",
    "core_clock=0": "core_clock is '0', expected a number of at least 1",
    "Sram_clock_scale=nan": "Sram_clock_scale is 'nan', expected",
    "OffChipFlash_clock_scale=0": "OffChipFlash_clock_scale is '0', expected",
    "OffChipFlash_read_latency=-5": "OffChipFlash_read_latency is '-5', expected",
    "Sram_burst_length=1e30": r"Sram_burst_length is 1e\+30, expected at most 1e\+06",
    "axi1_port=Nowhere": "Nowhere_clock_scale is missing",
    "inherit=System_Config.Wrong": "inherits from itself",
    "inherit=System_Config.Absent": r"section \[System_Config.Absent\] is missing; found",
    "inherit=Memory_Mode.Sram_Only": "core_clock is missing",
}


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_file_of_velas_is_one_error(line, tmp_path):
    path = tmp_path / "mine.ini"
    inherit = "" if line.startswith("inherit") else "inherit=System_Config.Slow\n"
    path.write_text(f"{MINE}[System_Config.Wrong]\n{inherit}{line}\n")
    with pytest.raises(InputError, match=WRONG[line]) as error:
        systems.custom("ethos-u55-128", path, "Wrong", "Shared_Sram")
    assert str(path) in str(error.value)


def test_files_are_the_user_s_or_our_own_as_they_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^chips.ini is not a Vela configuration file"):
        systems.custom("ethos-u55-128", Path("chips.ini"), "RENESAS_RA8P1", "Shared_Sram")
    Path("chips.ini").write_text("[System_Config.Mine]\n")
    assert systems.find("RA8P1").clock_hz == 500e6


def test_a_memory_mode_determines_where_constants_are(tmp_path):
    path = tmp_path / "mine.ini"
    path.write_text(MINE)
    for mode, speed in (("Shared_Sram", 2), ("Sram_Only", 4)):
        system = systems.custom("ethos-u55-128", path, "Slow", mode)
        assert system.weights.bytes_per_cycle == speed


def test_slower_memory_takes_longer_and_is_reported(small_cnn, tmp_path):
    path = tmp_path / "mine.ini"
    path.write_text(MINE)
    slow, slower = (
        latency.estimate(small_cnn, systems.custom("ethos-u55-128", path, name, "Shared_Sram"))
        for name in ("Slow", "Slower")
    )
    assert slower.cycles > 1.5 * slow.cycles
    assert next(iter(slower.bounds)) == "Sram"
    assert sum(slow.bounds.values()) == pytest.approx(1, abs=0.001)
    assert slow.cycles == sum(layer.cycles for layer in slow.layers)


def test_an_estimate_repeats(small_cnn):
    system = systems.find("CORSTONE_300")
    assert latency.estimate(small_cnn, system) == latency.estimate(small_cnn, system)


@pytest.mark.parametrize(
    ("name", "weights", "basis"),
    [
        ("CORSTONE_300", None, figures.CHECKED),
        ("MPS3_AN547", None, figures.EXTERNAL.format(memory="DDR")),
    ],
)
def test_an_interval_names_its_basis(small_cnn, name, weights, basis):
    found = latency.estimate(small_cnn, systems.find(name, weights=weights))
    assert found.basis == basis
    assert found.low_ms <= found.milliseconds
    assert (found.high_ms is None) == (basis != figures.CHECKED)
    if found.high_ms:
        error = figures.SHORT_ERROR if found.milliseconds < figures.SHORT_MS else figures.ERROR
        assert found.high_ms == pytest.approx((1 + error) * found.milliseconds)


def test_u65_and_u85_are_not_promised(compiled, small_models):
    for npu in ("ethos-u65-256", "ethos-u85-256"):
        found = latency.estimate(compiled(small_models["small_cnn"], npu), systems.example(npu))
        assert found.high_ms is None and found.cycles > 0


def test_wrong_names_are_one_error(small_cnn):
    with pytest.raises(UsageError, match="RA8P1 can have weights in MRAM or OSPI or SRAM, not in"):
        systems.find("RA8P1", weights="DDR")
    with pytest.raises(UsageError, match="RA8P1 has ethos-u55-256, not ethos-u55-64"):
        systems.find("RA8P1", "ethos-u55-64")
    with pytest.raises(InputError, match=r"unknown board or chip 'NONE'; expected one of .*RA8P1"):
        systems.find("NONE")
    with pytest.raises(InputError, match="compiled for ethos-u55-128, but RA8P1 has ethos-u55-256"):
        latency.estimate(small_cnn, systems.find("RA8P1"))


def test_the_figure_is_printed_with_its_basis(ethosu, small_models, tmp_path):
    page, model = tmp_path / "page.html", small_models["small_cnn"]
    code, out, _ = ethosu("profile", model, "--board", "RA8P1")
    assert code == 0
    assert "ms (" in out and "frames/s" in out and figures.CHECKED in out
    assert out.startswith("layer ") and "\n0 CONV_2D" in out
    for weights, shown in (("OSPI", ">= "), ("MRAM", " to ")):
        words = (model, "--board", "RA8P1", "--weights", weights, "--html", page)
        code, out, _ = ethosu("check", *words, "--json")
        (row,) = json.loads(out)["boards"]
        assert code == 0 and (row["estimate"]["high_ms"] is None) == (weights == "OSPI")
        text = page.read_text()
        assert ">0</text>\n" in text, "points of the roofline have the numbers of layers"
        assert shown in ethosu("check", *words)[1]


def test_instructions_of_the_cpu_are_counted(ethosu, tmp_path):
    path = tmp_path / "float_io.tflite"
    path.write_bytes(mixed_models.MODELS["float_io"].make())
    code, out, _ = ethosu("check", path, "--board", "MPS3_AN547", "--json")
    counted = json.loads(out)["boards"][0]["cpu"]
    assert code == 0 and 1000 < counted["instructions"] < 100_000
    assert counted["ms"] == pytest.approx(counted["instructions"] / 32e3)
    assert counted["low_ms"] == pytest.approx(counted["ms"] / 2)
    assert f">= {counted['low_ms']:.3g}" in ethosu("check", path, "--board", "MPS3_AN547")[1]


def test_a_part_that_cannot_be_counted_is_no_zero(ethosu, tmp_path, monkeypatch):
    """A part that cannot be counted, for example without firmware, is not shown as zero."""
    path = tmp_path / "float_io.tflite"
    path.write_bytes(mixed_models.MODELS["float_io"].make())

    def count(_file):
        raise SetupError("no firmware")

    monkeypatch.setattr(cpu, "instructions", count)
    code, out, _ = ethosu("check", path, "--board", "MPS3_AN547")
    assert code == 0 and "the CPU's part was not counted: no firmware" in out and " ?  " in out


def test_instructions_are_counted_with_valid_indices(ethosu, tmp_path):
    """Instructions are counted with valid indices, because GATHER would stop at others."""
    path = tmp_path / "attention.tflite"
    path.write_bytes(mixed_models.MODELS["attention"].make())
    code, out, _ = ethosu("check", path, "--board", "MPS3_AN547", "--json")
    assert code == 0 and 1000 < json.loads(out)["boards"][0]["cpu"]["instructions"] < 100_000


def test_possible_improvements_are_listed(ethosu, shared_models):
    """Faster memory for weights, also if unchecked, and a larger NPU are proposed."""
    code, out, _ = ethosu("check", shared_models / "ad01_int8.tflite", "--board", "NUMAKER_M55M1")
    said = "faster on NUMAKER_M55M1: 0."
    assert code == 0 and said in out and "with the weights in SRAM (--weights SRAM; on the" in out
    board = ("--board", "OPENMV_AE3-M55_HE", "--weights", "SRAM")
    code, out, _ = ethosu("check", shared_models / "kws_ref_model.tflite", *board)
    assert code == 0 and "with an ethos-u55-256 (ALIF_ENSEMBLE_E7-M55_HP, " in out
    assert "weights in MRAM" not in out


def test_a_rate_without_the_cpu_operators_is_a_bound(small_cnn):
    found = latency.estimate(small_cnn, systems.find("ALIF_ENSEMBLE_E7-M55_HE"))
    assert text.frames(found.as_dict()) == f"{1e3 / found.milliseconds:,.0f} frames/s"
    low = found.low_ms
    for change, most in (
        ({"cpu_operators": {"SOFTMAX": 1}}, 1e3 / low),
        ({"high_ms": None, "basis": figures.UNCHECKED}, 1e3 / low),
    ):
        said = text.frames(replace(found, **change).as_dict())
        assert said == f"at most {most:,.0f} frames/s"
    mixed = found.as_dict() | {"cpu_operators": {"SOFTMAX": 1}}
    hint = ("", "`ethosu profile --on qemu` counts their instructions")
    assert hint in text.summary(mixed) and hint not in text.summary(mixed, measured=True)


@pytest.mark.parametrize(
    "change",
    [{"low_ms": 0.0}, {"low_ms": 1e9}, {"high_ms": 1e-9}, {"cycles": 1}, {"cycles": 10**9}],
)
def test_a_latency_that_cannot_be_is_refused(small_cnn, change):
    found = latency.estimate(small_cnn, systems.find("ALIF_ENSEMBLE_E7-M55_HE"))
    with pytest.raises(AssertionError):
        replace(found, **change)


def test_chips_and_other_memories_have_rows_too(ethosu, small_cnn, small_models):
    """Chips with a compiled file's NPU, and other memories, have rows, too, without heap."""
    code, out, _ = ethosu("check", small_cnn, "--chips", "--json")
    rows = json.loads(out)["boards"]
    expected = [system for system in systems.every() if system.npu == "ethos-u55-128"]
    found = {(row["board"], row["npu"], row["weights"]) for row in rows}
    assert code == 0 and found == {(each.name, each.npu, each.weights.name) for each in expected}
    assert len(rows) == len(found)
    for row in rows:
        assert (row["status"] == "unknown") == (row["board"] not in boards.names())
        assert row["runs"] and bool(row["shares"]) == (row["board"] in boards.names())
    code, out, _ = ethosu("check", small_models["small_cnn"], "--board", "RA8P1")
    assert code == 0 and out.startswith("Yes: it runs on RA8P1 if the firmware has ")


def test_rows_are_sorted_by_time_with_bounds_behind(ethosu, small_models):
    code, out, _ = ethosu("check", small_models["small_cnn"], "--json")
    rows = json.loads(out)["boards"]
    bound = ["a lower bound" in row["estimate"]["basis"] for row in rows]
    assert code == 0 and bound == sorted(bound)
    for which in (False, True):
        key = "low_ms" if which else "ms"
        times = [row["estimate"][key] for row, is_ in zip(rows, bound, strict=True) if is_ == which]
        assert times == sorted(times) and len(times) > 1


def test_several_files_have_a_column_each(ethosu, small_models, small_cnn, tmp_path):
    other = tmp_path / "other.tflite"
    other.write_bytes(mixed_models.MODELS["float_io"].make())
    some = ("--board", "MPS3_AN547")  # each board counts the instructions of the CPU
    code, out, _ = ethosu("check", small_cnn, other, *some)
    assert code == 0 and out.split("\n", 1)[0].split() == [
        *("BOARD", "NPU", "WEIGHTS", f"{small_cnn.stem},", "ms", "other,", "ms")
    ]
    data = json.loads(ethosu("check", small_cnn, other, *some, "--json")[1])
    assert [each["model"] for each in data["models"]] == [str(small_cnn), str(other)]
    alone = json.loads(ethosu("check", other, *some, "--json")[1])
    assert data["models"][1] == alone and f"{other}: {alone['verdict']}" in out


def test_a_column_has_a_dash_where_a_file_has_no_row(ethosu, small_models):
    """As one that is compiled for the NPU of other boards."""
    first = json.loads(ethosu("check", small_models["small_cnn"], "--json")[1])
    second = {**first, "model": "other", "boards": first["boards"][1:]}
    head, rows = answer.side_by_side([first, second])
    assert len(rows) == len(first["boards"]) > 1 and head[-1] == "other, ms"
    assert [row[-1] == "-" for row in rows] == [True] + [False] * (len(rows) - 1)
    assert "-" not in [row[-2] for row in rows]


def test_your_own_system_is_checked(ethosu, small_models, tmp_path):
    path = tmp_path / "mine.ini"
    path.write_text(MINE)
    words = ("--npu", "ethos-u55-128", "--config", path, "--system-config", "Slow")
    code, out, _ = ethosu("check", small_models["small_cnn"], *words, "--json")
    (row,) = json.loads(out)["boards"]
    assert code == 0 and (row["board"], row["estimate"]["clock_mhz"]) == ("Slow", 100)


def test_wrong_command_lines_are_refused(ethosu, small_cnn, tmp_path):
    for arguments in (
        ("--chips", "--board", "RA8P1"),
        ("--config", tmp_path / "x.ini"),
        ("--system-config", "X"),
        ("--weights", "SRAM"),
        ("--memory-mode", "Sram_Only"),
        ("--npu", "ethos-u85-256"),
        (small_cnn, "--html", tmp_path / "page.html"),
        (small_cnn, "--reference", small_cnn),
    ):
        assert ethosu("check", small_cnn, *arguments)[0] == 2


# --- Points ---------------------------------------------------------------------


def test_the_points_are_plausible():
    found = points.published()
    assert len(found) == len({point.id for point in found}) == 10
    for point in found:
        assert len(point.sha256) == 64 and point.source.startswith("https://")
        systems.find(point.system, point.npu, point.weights)


def test_the_estimate_is_as_near_as_is_promised(shared_models):
    """Estimates for Renesas' chip are within limits; lab/silicon.py has other points."""
    results = []
    for point in points.published():
        model = points.find_model(point, [shared_models])
        if model:
            results.append(points.compare(point, model))
    assert [result.point.id for result in results] == ["A1", "A2", "A3", "A6", "A7"]
    assert points.mean_error(results) <= points.MEAN_LIMIT
    for result in results:
        assert abs(result.error) <= points.LIMIT and result.inside, result


def test_a_model_is_found_by_its_hash_as_a_file_or_as_c_text(tmp_path):
    data = bytes(range(256)) * 2
    digest = hashlib.sha256(data).hexdigest()
    point = points.Point("x", "m.tflite", digest, "", "", "", 1.0, "no", "", "")
    assert points.find_model(point, [tmp_path]) is None
    text = ", ".join(f"0x{byte:02X}" for byte in data)
    path = tmp_path / "m.tflite.cpp"
    path.write_text(f"const char a[] = {{0x01, 0x02}};\nconst char b[] = {{\n{text},\n}};\n")
    assert points.find_model(point, [tmp_path]) == data
    (tmp_path / "m.tflite").write_bytes(data[1:])
    path.unlink()
    assert points.find_model(point, [tmp_path]) is None


def yolov1_96() -> bytes:
    """Make uNPU-Bench's network with random weights; (channels, kernel), "pool" for max pool."""
    net = Net("yolov1_96", 96)
    x = net.input((1, 96, 96, 3))
    wide, narrow = (32, 3), (16, 1)
    layers = [(16, 3), "pool", (16, 3), "pool", narrow, wide, narrow, wide, narrow, wide, "pool"]
    layers += [narrow, wide] * 4 + [(32, 1), narrow, narrow]
    for layer in layers:
        if layer == "pool":
            x = net.pool(x, "MAX_POOL_2D", 2)
        else:
            x = net.conv(x, layer[0], (layer[1], layer[1]))
    return net.finish(net.conv(x, 12, (1, 1), activation=NONE))


# Estimate and lower bound of docs/latency.md for a measurement of 2.2 ms.
BLIND = {
    ("Size", "SRAM"): (1.855, 1.854),
    ("Performance", "SRAM"): (1.636, 1.636),
    ("Performance", ""): (2.088, 1.636),
    ("Size", ""): (6.473, 1.854),
}


@pytest.mark.parametrize(("optimise", "weights"), BLIND)
def test_the_blind_point_is_not_below_the_bound(optimise, weights):
    """The blind point is above the bound; MACs add up to the published sum."""
    model = ModelFile(yolov1_96(), name="yolov1_96.tflite")
    usual = systems.find("GROVE_VISION_AI_V2")
    options = ["--optimise", optimise]
    done = vela.compiled(model, usual.npu, board=usual.facts, more_options=options).file
    found = latency.estimate(done, systems.find(usual.name, usual.npu, weights or None))
    assert (round(found.milliseconds, 3), round(found.low_ms, 3)) == BLIND[optimise, weights]
    point = boards.blind_point(usual.name)
    assert found.high_ms is None and found.low_ms < point.measured_ms
    if (optimise, weights) == ("Size", point.weights):  # the most probable one
        assert (point.estimated_ms, point.low_ms) == BLIND[optimise, weights]
    convolutions = sum(row.macs for row in found.layers)
    pooled = 48 * 48 * 16 + 24 * 24 * 16 + 12 * 12 * 32
    assert convolutions + 4 * pooled + 12 * 12 * 12 == 21_428_928


@pytest.mark.parametrize("name", ["GROVE_VISION_AI_V2", "NUMAKER_M55M1"])
def test_the_boards_blind_point_is_shown(ethosu, small_models, name):
    point = boards.blind_point(name)
    assert (point is not None) == (name == "GROVE_VISION_AI_V2")
    for command in (["check", small_models["small_cnn"], "--board", name], ["boards", name]):
        code, out, _ = ethosu(*command)
        said = "YOLOv1 at 96 x 96, weights in SRAM, took 2.2 ms and 225 uJ on this chip; the"
        assert code == 0 and (said in out) == bool(point)
        if point and command[0] == "check":  # shown as another model's
            assert f"\nfor scale: {said}" in out
        data = json.loads(ethosu(*command, "--json")[1])
        shown = data["boards"][0] if command[0] == "boards" else data
        assert shown.get("blind_point") == (dataclasses.asdict(point) if point else None)


def test_a_measurement_is_saved_as_a_point(ethosu, small_cnn, tmp_path):
    table = tmp_path / "points.csv"
    code, out, err = ethosu(
        "profile", small_cnn, "--on", "qemu", "--board", "MPS3_AN547", "--save", table
    )
    assert (code, err) == (0, "") and f"saved      {table}" in out
    with table.open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["chip"] == "emulated" and row["npu"] == "ethos-u55-128"


def test_an_invalid_table_of_points_is_one_error(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("id,model\n1,2\n")
    with pytest.raises(InputError, match="expected columns id, model, sha256"):
        points.read(path)


# --- Output of `ethosu compile` and metadata ---------------------------------------


def test_compile_prints_the_latency_and_the_board_reports_it(ethosu, small_models, tmp_path):
    output = tmp_path / "model.tflite"
    code, out, _ = ethosu(
        "compile", small_models["small_cnn"], "--board", "MPS3_AN547", "-o", output
    )
    assert code == 0 and "latency    at least" in out and "inferences/s" not in out
    expected = latency.estimate(output, systems.find("MPS3_AN547")).milliseconds
    image = romfs.build({"model.tflite": output.read_bytes()})
    with QemuBoard(Machine(emulated("MPS3_AN547"), romfs=image)) as board:
        found = board.ask(
            "import ethosu\n_answer = ethosu.Model('/rom/model.tflite').info()['estimate_us']"
        )
    assert found == round(1e3 * expected)


def test_compile_without_a_board_stores_no_latency(ethosu, small_models, tmp_path):
    output = tmp_path / "model.tflite"
    code, out, _ = ethosu("compile", small_models["small_cnn"], "-o", output, "--json")
    assert code == 0 and json.loads(out)["latency"]["npu"] == "ethos-u55-128"
    assert metadata.get(output.read_bytes(), LATENCY) is None
