# SPDX-License-Identifier: MIT
"""Reading and compiling models: correct figures for good files, one sentence for bad ones."""

import random
import re
import struct
from pathlib import Path

import ethosu
import pytest
from ethosu_tools import library, tflite, vela
from ethosu_tools.errors import InputError, UsageError
from ethosu_tools.model import ModelFile
from ethosu_tools.model.kinds import DATA, MODELS


@pytest.mark.parametrize("kind", [*MODELS, DATA])
def test_the_c_library_knows_the_same_kinds_of_files(kind):
    data, text = b"\0\0\0\0" + kind.mark, library.ffi().string
    found = library.describing().ethosu_file_kind_of(data, len(data))
    assert (text(found.mark), text(found.suffix).decode(), text(found.data_suffix).decode()) == kind
    cut = library.describing().ethosu_file_kind_of(data, len(data) - 1)
    assert text(cut.mark) == b""


@pytest.mark.parametrize("npu", vela.NPUS)
def test_compiled_model_names_its_npu(small_models, compiled, npu):
    assert tflite.describe(compiled(small_models["small_cnn"], npu)).npu == npu


def test_compiling_keeps_inputs_and_outputs(small_models, compiled):
    for path in small_models.values():
        before, after = tflite.describe(path), tflite.describe(compiled(path))
        for old, new in zip(
            before.inputs + before.outputs, after.inputs + after.outputs, strict=True
        ):
            assert (old.shape, old.dtype, old.zero_point) == (new.shape, new.dtype, new.zero_point)
            assert old.scale == pytest.approx(new.scale)


def test_operators_left_to_the_cpu_are_counted(small_models, compiled):
    description = tflite.describe(compiled(small_models["small_streaming"]))
    assert description.cpu_operators["READ_VARIABLE"] == 2
    assert description.cpu_operators["CALL_ONCE"] == 1
    assert len(description.npu_operators) >= 1


def test_report_and_estimate_are_kept(small_models, tmp_path):
    kept = tmp_path / "report.txt"
    data = vela.compile_model(
        small_models["small_cnn"], "ethos-u55-128", tmp_path / "m.tflite", report=kept
    )
    assert data["estimate"]["cycles"] > 0
    report = kept.read_text()
    assert "Accelerator configuration" in report and "Conv2D" in report


def test_options_reach_vela(small_models, tmp_path):
    data = vela.compile_model(
        small_models["small_cnn"],
        "ethos-u55-128",
        tmp_path / "m.tflite",
        memory_mode="Sram_Only",
        more_options=["--optimise", "Size"],
    )
    assert data["memory_mode"] == "Sram_Only"
    assert data["estimate"]["flash_kib"] == 0


@pytest.mark.parametrize("mode", vela.MEMORY_MODES)
def test_memory_modes_of_a_u85(small_models, tmp_path, mode):
    path = tmp_path / "m.tflite"
    data = vela.compile_model(small_models["small_cnn"], "ethos-u85-256", path, memory_mode=mode)
    (operator,) = data["npu_operators"]
    assert (data["npu"], data["memory_mode"]) == ("ethos-u85-256", mode)
    assert (operator["fast_scratch_bytes"] > 0) == mode.startswith("Dedicated_Sram")
    assert (data["estimate"]["dram_kib"] > 0) == (mode != "Sram_Only")


def test_memory_modes_are_all_that_vela_has():
    ini = Path(ethosu.__path__[0]) / "config_files" / vela.CONFIG_FILE
    modes = re.findall(r"^\[Memory_Mode\.(\w+)\]", ini.read_text(), re.MULTILINE)
    assert list(vela.MEMORY_MODES) == modes


# Both internal SRAM banks of a Corstone-300.
SRAM_BYTES = 4 << 20


@pytest.mark.parametrize(
    "name", ["kws_ref_model", "ad01_int8", "pretrainedResnet_quant", "vww_96_int8"]
)
def test_real_models_fit_the_board(shared_models, compiled, name):
    description = tflite.describe(compiled(shared_models / f"{name}.tflite"))
    assert description.npu_operators and not description.cpu_operators
    assert sum(operator.scratch_bytes for operator in description.npu_operators) < SRAM_BYTES


@pytest.mark.parametrize(
    "options, message",
    [
        ({"memory_mode": "Nowhere"}, "unknown memory mode 'Nowhere'; expected one of Sr"),
        ({"system_config": "None"}, "Vela rejected .*System_Config.None not found"),
        ({"config": "no/such.ini"}, "Vela rejected"),
        ({"more_options": ["--no-such-option"]}, "Vela rejected .*unrecognized arguments"),
    ],
)
def test_options_that_vela_refuses(small_models, tmp_path, options, message):
    with pytest.raises((InputError, UsageError), match=message):
        vela.compile_model(
            small_models["small_cnn"], "ethos-u55-128", tmp_path / "m.tflite", **options
        )
    assert not list(tmp_path.iterdir())


def test_unknown_npu_is_refused_with_the_known_ones(small_models, tmp_path):
    with pytest.raises(
        InputError, match=r"unknown NPU 'ethos-u55-512'; expected one of ethos-u55-32"
    ):
        vela.compile_model(small_models["small_cnn"], "ethos-u55-512", tmp_path / "m.tflite")


def test_compiling_twice_is_refused(small_models, compiled, tmp_path):
    with pytest.raises(InputError, match="already compiled, for ethos-u55-128"):
        vela.compile_model(
            compiled(small_models["small_cnn"]), "ethos-u55-256", tmp_path / "m.tflite"
        )


def test_model_that_was_never_compiled_is_named_with_the_remedy(small_models):
    with pytest.raises(InputError, match=r"never compiled.*run: ethosu compile"):
        _ = ModelFile(small_models["small_cnn"]).compiled


BAD_FILES = {
    "missing": None,
    "empty": b"",
    "text": b"this is not a model at all",
    "identifier only": b"\0\0\0\0TFL3",
    "root far away": struct.pack("<I", 0x7FFFFFFF) + b"TFL3" + bytes(64),
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_files_that_are_no_models_are_refused(tmp_path, content):
    path = tmp_path / "bad.tflite"
    if content is not None:
        path.write_bytes(content)
    for read in (tflite.describe, lambda path: vela.compile_model(path, "ethos-u55-128", path)):
        with pytest.raises(InputError, match=r"bad\.tflite"):
            read(path)


def test_a_truncated_model_reports_where_reading_fails(small_models, tmp_path):
    content = small_models["small_cnn"].read_bytes()
    path = tmp_path / "cut.tflite"
    beyond = r"it has (\d+) bytes, a table extends to byte (\d+) or beyond"
    inside = r"the data at byte (\d+) leads beyond its (\d+) bytes"
    seen = set()
    for size in range(100, len(content), 500):
        path.write_bytes(content[:size])
        with pytest.raises(InputError, match=r"cut.tflite: damaged or truncated: ") as raised:
            tflite.describe(path)
        found = re.search(f"{beyond}|{inside}", str(raised.value)).groups()
        sizes = [int(number) for number in found if number]
        assert size in sizes and sizes[0] <= sizes[1], "a sentence that is true"
        seen.add(found[0] is None)
    assert seen == {False, True}


def test_model_cut_anywhere_is_read_or_refused(small_models, compiled, tmp_path):
    data = compiled(small_models["small_cnn"]).read_bytes()
    path = tmp_path / "cut.tflite"
    path.write_bytes(data)
    whole = tflite.describe(path)
    refused = 0
    for size in range(8, len(data), len(data) // 200):
        path.write_bytes(data[:size])
        try:
            assert tflite.describe(path) == whole  # only what nobody points to was cut off
        except InputError:
            refused += 1
    assert refused > 150


def test_damaged_model_is_read_or_refused(small_models, compiled, tmp_path):
    sound = compiled(small_models["small_streaming"]).read_bytes()
    for seed in range(300):
        source, data = random.Random(seed), bytearray(sound)
        for _ in range(source.randrange(1, 20)):
            data[source.randrange(8, len(data))] = source.randrange(256)
        path = tmp_path / f"damaged{seed}.tflite"
        path.write_bytes(data)
        try:
            tflite.describe(path)
        except InputError as error:
            assert str(path) in str(error)
