# SPDX-License-Identifier: MIT
"""Good models are read and compiled with correct figures; bad ones give one sentence."""

import re
import struct
from pathlib import Path

import ethosu
import flatbuffers
import pytest
from ai_edge_litert import schema_py_generated as schema
from ethosu_tools.base import library
from ethosu_tools.base.errors import InputError, UsageError
from ethosu_tools.boards import targets
from ethosu_tools.compile import instead, vela
from ethosu_tools.model import ModelFile, arrays, graph, tflite
from ethosu_tools.model.kinds import DATA, MODELS
from ethosu_tools.model.tflite.writer import Graph, write
from ethosu_tools.sim import litert


@pytest.mark.parametrize("kind", [*MODELS, DATA])
def test_the_c_library_knows_the_same_kinds_of_files(kind):
    data, text = b"\0\0\0\0" + kind.mark, library.ffi().string
    found = library.describing().ethosu_file_kind_of(data, len(data))
    assert (text(found.mark), text(found.suffix).decode(), text(found.data_suffix).decode()) == kind
    cut = library.describing().ethosu_file_kind_of(data, len(data) - 1)
    assert text(cut.mark) == b""


@pytest.mark.parametrize("npu", targets.NPUS)
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


@pytest.mark.parametrize("mode", targets.MEMORY_MODES)
def test_memory_modes_of_a_u85(small_models, tmp_path, mode):
    path = tmp_path / "m.tflite"
    data = vela.compile_model(small_models["small_cnn"], "ethos-u85-256", path, memory_mode=mode)
    (operator,) = data["npu_operators"]
    assert (data["npu"], data["memory_mode"]) == ("ethos-u85-256", mode)
    assert (operator["fast_scratch_bytes"] > 0) == mode.startswith("Dedicated_Sram")
    assert (data["vela_estimate"]["dram_kib"] > 0) == (mode != "Sram_Only")


@pytest.mark.parametrize("how", ["--config", "--vela", "--vela="])
def test_a_configuration_file_in_a_folder_is_found(
    ethosu, small_models, tmp_path, monkeypatch, how
):
    """A configuration file in a folder is found, which Vela would take for one of its own."""
    monkeypatch.chdir(tmp_path)
    Path("config").mkdir()
    Path("config/my.ini").write_text(
        "[System_Config.Mine]\ncore_clock=1e6\naxi0_port=Sram\naxi1_port=OffChipFlash\n"
        "Sram_clock_scale=1.0\nOffChipFlash_clock_scale=0.5\n"
        "[Memory_Mode.Mine]\nconst_mem_area=Axi1\narena_mem_area=Axi0\ncache_mem_area=Axi0\n"
    )
    mine = ["--system-config", "Mine", "--memory-mode", "Mine"]
    words = {
        "--config": ["--config", "config/my.ini", *mine],
        "--vela": [f"--vela=--config config/my.ini {' '.join(mine)}"],
        "--vela=": [f"--vela=--config=config/my.ini {' '.join(mine)}"],
    }[how]
    code, _, err = ethosu(
        "compile", small_models["small_cnn"], "--npu", "ethos-u55-128", "-o", "o.tflite", *words
    )
    assert code == 0, err


def test_memory_modes_are_all_that_vela_has():
    ini = Path(ethosu.__path__[0]) / "config_files" / targets.CONFIG_FILE
    modes = re.findall(r"^\[Memory_Mode\.(\w+)\]", ini.read_text(), re.MULTILINE)
    assert list(targets.MEMORY_MODES) == modes


@pytest.mark.parametrize(
    "options, message",
    [
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
            assert tflite.describe(path) == whole  # only unreferenced bytes were cut off
        except InputError:
            refused += 1
    assert refused > 150


def test_operators_and_types_have_tensorflows_names():
    """All operators and types are shown by TensorFlow's names, not by numbers.

    LiteRT 1.2.0 does not have all types of 2.3.0.
    """
    operators = {
        name: code for name, code in vars(schema.BuiltinOperator).items() if name[0] != "_"
    }
    assert {code: name for name, code in operators.items() if code > 161} == graph.NEWER_OPERATORS
    types = {code: name.lower() for name, code in vars(schema.TensorType).items() if name[0] != "_"}
    assert types.items() <= (graph.DTYPES | graph.OTHER_TYPES).items()
    missing = {"int2", "uint4", "float8_e4m3fn", "float8_e5m2"} - set(types.values())
    assert len(missing) == (4 if litert.installed() == litert.RELEASES[0] else 0)


def test_a_name_is_one_word_of_a_text(tmp_path):
    """A name is printed as one word; with a newline, it could fake a message of the tools."""
    main = Graph("main")
    x, y = (main.tensor(f"{name}\nresult: exact", (4, 4), "int8", 0.5) for name in "xy")
    main.operator("RESHAPE", [x], [y], "ReshapeOptions", newShape=[4, 4])
    main.inputs, main.outputs = [x], [y]
    file = ModelFile(write([main], "names"))
    assert [each.name for each in file.graph.tensors] == [r"x\nresult: exact", r"y\nresult: exact"]


def test_a_type_that_is_no_number_is_named():
    main = Graph("main")
    x = main.tensor("words", (4,), "int8")
    main.inputs = main.outputs = [x]
    tree = schema.ModelT.InitFromObj(schema.Model.GetRootAs(write([main], "words")))
    tree.subgraphs[0].tensors[x].type = schema.TensorType.STRING
    builder = flatbuffers.Builder(1 << 10)
    builder.Finish(tree.Pack(builder), b"TFL3")
    message = r"tensor 0 \(words\), an input or output, has the type string: neither NPU nor CPU"
    with pytest.raises(InputError, match=message):
        _ = ModelFile(bytes(builder.Output())).description


@pytest.mark.parametrize(
    ("name", "whose"),
    [
        ("edgetpu-custom-op", "Google's Edge TPU"),
        ("MTKEXT_CONV", "MediaTek's APU"),
        ("DISPATCH_OP", "the NPU of another chip"),
    ],
)
def test_a_model_of_another_accelerator_is_named(fails, tmp_path, name, whose):
    """A model for another accelerator is named; the advice to compile it would be wrong."""
    main = Graph("main")
    x, y = (main.tensor(each, (4, 4), "int8", 0.5) for each in "xy")
    main.operator(name, [x], [y])
    main.inputs, main.outputs = [x], [y]
    path = tmp_path / "model.tflite"
    path.write_bytes(write([main], "other"))
    for words in (["run", path], ["compile", path, "--npu", "ethos-u55-128", "-o", tmp_path / "o"]):
        fails(*words, code=3, said=f"is compiled for {whose}")


def test_random_inputs_are_where_the_operator_is_defined(ethosu, tmp_path):
    """Random inputs are positive where needed: TFLite's RSQRT raises, and DIV by 0 crashes."""
    main = Graph("main")
    x = main.tensor("x", (1, 64), "int8", 0.02, -10)
    y = main.tensor("y", (1, 64), "int8", 0.05, -128)
    main.operator("RSQRT", [x], [y])
    main.inputs, main.outputs = [x], [y]
    path = tmp_path / "model.tflite"
    path.write_bytes(write([main], "rsqrt"))
    compiled = tmp_path / "compiled.tflite"
    code, _, err = ethosu("compile", path, "--npu", "ethos-u55-128", "-o", compiled)
    assert code == 0, err
    code, out, err = ethosu("run", compiled, "--reference", path, "--on", "sim")
    assert code == 0 and "every value equals" in out, err


def test_too_many_bytes_of_inputs_are_refused_before_they_are_made(monkeypatch):
    tensors = [tflite.Tensor("x", (1 << 30, 2), "int8")]
    monkeypatch.setattr(arrays, "random_inputs", None)
    with pytest.raises(
        UsageError, match=r"1 steps have 2,147,483,648 bytes of inputs, expected at"
    ):
        arrays.random_steps(tensors, 1)


def test_loops_and_a_batch_of_any_size_have_advice():
    advice, others = instead.lines(["SHAPE", "FlexTensorListReserve", "WHILE", "ADD_N", "CUMSUM"])
    assert others == ["ADD_N"] and "triangular" in advice[0]
    assert advice[1].startswith(
        "instead of SHAPE, FlexTensorListReserve, WHILE: a fixed batch of 1"
    )
