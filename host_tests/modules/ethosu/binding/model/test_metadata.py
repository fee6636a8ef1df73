# SPDX-License-Identifier: MIT
"""Model.metadata() and .labels read TFLite metadata, written here by schema field numbers."""

import io
import struct
import zipfile

import pytest
from ethosu_tools.cli import main
from ethosu_tools.model.tflite import flatbuffer_writer
from ethosu_tools.model.tflite.flatbuffer_writer import f32, f32s, i8, u8
from ethosu_tools.model.tflite.metadata import put

from host_tests.kit.board_models import MODEL, raised

from .test_failures import compile_to

ENTRY = "TFLITE_METADATA"
NORMALIZATION = {0: u8(1), 1: {0: f32s([123.5, 116.0, 103.0]), 1: f32s([58.5, 57.0, 57.5])}}
CALIBRATION = b"1.0,2.0,0.5\n0.9,1.5,-0.25,0.1\n"


def encode(root):
    """Encode metadata as a FlatBuffer."""
    return flatbuffer_writer.encode(root, b"M001")


def zipped(files):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as content:
        for name, text in files.items():
            content.writestr(name, text)
    return data.getvalue()


def rich(model: bytes, *, prefixed: bool = False, calibration_rows=CALIBRATION) -> bytes:
    """Make a model with all metadata that is read, followed by an archive.

    `prefixed`: archive offsets count from the first byte of the model.
    """
    calibration = {0: u8(2), 1: {0: i8(1), 1: f32(0.125)}}
    threshold = {0: u8(3), 1: {0: f32(0.375)}}
    files = [{0: "words.txt", 2: i8(2)}, {0: "scores.txt", 2: i8(4)}]
    output = {0: "probability", 1: "of each class", 4: [calibration, threshold], 6: files}
    graph = {2: [{0: "image", 4: [NORMALIZATION]}], 3: [output]}
    entry = encode({0: "classifier", 1: "of small pictures", 3: [graph], 7: "1.2.0"})
    data = put(model, {ENTRY: entry})
    packed = {"words.txt": b"cat\ndog\r\nk\xc3\xa4se\n", "scores.txt": calibration_rows}
    if not prefixed:
        return data + zipped(packed)
    whole = io.BytesIO(data)
    with zipfile.ZipFile(whole, "a") as content:
        for name, text in packed.items():
            content.writestr(name, text)
    return whole.getvalue()


@pytest.mark.parametrize("prefixed", [False, True])
def test_all_of_it_is_read(api, prefixed):
    api.write_file("/rich.tflite", rich(api.read_file(MODEL), prefixed=prefixed))
    api.exec("r = ethosu.Model('/rich.tflite')\nmetadata = r.metadata()")
    assert api.eval("bytes(r.predict([x])[0]) == golden")
    assert api.eval("(metadata['name'], metadata['description'])") == (
        "classifier",
        "of small pictures",
    )
    assert api.eval("metadata['inputs']") == [
        {"name": "image", "description": None, "mean": (123.5, 116.0, 103.0),
         "std": (58.5, 57.0, 57.5)}
    ]  # fmt: skip
    (output,) = api.eval("metadata['outputs']")
    assert output["labels"] == api.eval("r.labels") == ["cat", "dog", "käse"]
    assert output["score_threshold"] == 0.375
    assert output["score_calibration"] == {
        "transformation": "log",
        "default": 0.125,
        "rows": [(1.0, 2.0, 0.5, None), (0.9, 1.5, -0.25, 0.1)],
    }


def test_a_score_is_calibrated_by_the_formula(api):
    """Scores are calibrated by the formula; at or below the minimum, the default applies."""
    api.write_file("/rich.tflite", rich(api.read_file(MODEL)))
    api.exec(
        "from _ethosu_metadata import calibrate\n"
        "c = ethosu.Model('/rich.tflite').metadata()['outputs'][0]['score_calibration']"
    )
    from math import exp, log

    wanted = 0.9 / (1 + exp(-(1.5 * log(0.5) - 0.25)))
    assert api.eval("calibrate(c, 1, 0.5)") == pytest.approx(wanted)
    assert api.eval("[calibrate(c, 1, 0.1), calibrate(c, 2, 0.5), calibrate(c, 0, 0.0)]") == [
        0.125, 0.125, 0.125
    ]  # fmt: skip


def test_a_model_without_metadata(api):
    assert api.eval("(m.metadata(), m.labels)") == ({}, None)


def test_damaged_metadata_is_one_error(api):
    """Every truncation or changed byte gives a result or a ValueError, and the model runs.

    A truncated file is loaded; a byte that changes later is read from the file in place.
    """
    entry = encode({0: "x", 3: [{2: [{0: "image", 4: [NORMALIZATION]}]}]})
    api.write_file("/bad.tflite", put(api.read_file(MODEL), {ENTRY: entry}))
    api.exec(
        "import struct\nfile = bytearray(open('/bad.tflite', 'rb').read())\n"
        f"at, kinds = file.find({entry!r}), set()\n"
        "def attempt(b=None):\n"
        "    try: (b or ethosu.Model(file)).metadata()\n"
        "    except Exception as error: kinds.add(type(error).__name__)\n"
        f"for cut in range({len(entry)}):\n"
        "    struct.pack_into('<I', file, at - 4, cut)\n    attempt()\n"
        "assert kinds == {'ValueError'}\nkinds.clear()\n"
        f"struct.pack_into('<I', file, at - 4, {len(entry)})\n"
        "b = ethosu.Model(file)\n"
        f"for i in range(at, at + {len(entry)}):\n"
        "    for bits in (1, 0xff):\n"
        "        file[i] ^= bits\n        attempt(b)\n        file[i] ^= bits\n",
        timeout=60,
    )
    assert api.eval("kinds") == {"ValueError"}
    assert api.eval("(b.metadata()['name'], bytes(b.predict([x])[0]) == golden)") == ("x", True)
    assert refused(api, b"\0\0\0\0M999") == "identifier is not M001"


def refused(api, entry, archive=b""):
    """Return why a model with this metadata entry, followed by this archive, is rejected."""
    api.write_file("/bad.tflite", put(api.read_file(MODEL), {ENTRY: entry}) + archive)
    said, _, why = raised(api, "ethosu.Model('/bad.tflite').metadata()").partition(" is damaged: ")
    assert said == "ValueError the model's TFLite metadata"
    return why


def test_reading_metadata_costs_no_more_than_its_size_allows(api):
    """A small file that refers to its parts many times, so that reading is slow, is refused."""
    often = "it references its parts so often that reading would take too long"
    normalization = {0: u8(1), 1: {0: f32s([1.0] * 400)}}
    assert refused(api, encode({3: [{2: [{4: [normalization] * 400}]}]})) == often
    tensor = {4: [{0: u8(2), 1: {}}] * 100, 6: [{0: "rows.txt", 2: i8(4)}]}
    archive = zipped({"rows.txt": b"1,2,3\n" * 500})
    assert refused(api, encode({3: [{2: [tensor]}]}), archive) == often


def test_metadata_of_another_number_of_inputs_or_outputs_is_refused(api):
    for field, what in ((2, "inputs"), (3, "outputs")):
        why = refused(api, encode({3: [{field: [{}] * 3}]}))
        assert why == f"it describes 3 {what}, the model has 1"


@pytest.mark.parametrize("rows", [b"1.0\n", b"1.0,2.0\n", b"1,2,3,4,5\n"])
def test_a_calibration_of_too_few_or_too_many_numbers_is_refused(api, rows):
    api.write_file("/rich.tflite", rich(api.read_file(MODEL), calibration_rows=rows))
    message = raised(api, "ethosu.Model('/rich.tflite').metadata()")
    assert "is damaged: calibration" in message and "expected 3 or 4" in message


def test_a_transformation_below_0_is_refused(api):
    calibration = {0: u8(2), 1: {0: i8(-1)}}
    why = refused(api, encode({3: [{3: [{4: [calibration]}]}]}))
    assert why == "score calibration has transformation 255, expected 0 to 2"


def test_an_archive_whose_files_are_larger_than_the_file_is_refused(api):
    archive = bytearray(zipped({f"{i}": bytes(100) for i in range(9)}))
    for at in range(len(archive)):
        if archive[at : at + 4] == b"PK\1\2":
            archive[at + 20 : at + 24] = struct.pack("<I", 1 << 20)
    assert refused(api, encode({0: "x"}), bytes(archive)) == "directory is damaged"


def test_the_tool_writes_what_the_board_reads(api, board_npu, tmp_path, small_models):
    (tmp_path / "words.txt").write_text("null\neins\nzwölf\n")
    options = ["--labels", str(tmp_path / "words.txt"), "--normalise", "127.5", "60,61,62.5"]
    out = tmp_path / "out.tflite"
    api.write_file("/given.tflite", compile_to(out, small_models["small_cnn"], board_npu, *options))
    api.exec("t = ethosu.Model('/given.tflite')\nmetadata = t.metadata()")
    assert api.eval("t.labels") == ["null", "eins", "zwölf"]
    assert api.eval("metadata['inputs'][0]['mean']") == (127.5,)
    assert api.eval("metadata['inputs'][0]['std']") == (60.0, 61.0, 62.5)
    assert api.eval("bytes(t.predict([x])[0]) == golden")
    # Tools on the PC see a ZIP archive.
    with zipfile.ZipFile(out) as content:
        assert content.read("labels.txt").decode().split() == ["null", "eins", "zwölf"]


def test_compile_keeps_what_the_source_says(api, board_npu, tmp_path, small_models):
    source = tmp_path / "source.tflite"
    source.write_bytes(rich(small_models["small_cnn"].read_bytes()))
    api.write_file("/kept.tflite", compile_to(tmp_path / "out.tflite", source, board_npu))
    api.exec("k = ethosu.Model('/kept.tflite')")
    assert api.eval("(k.labels[2], k.metadata()['name'])") == ("käse", "classifier")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--labels", "nothing.txt"], "nothing.txt"),
        (["--labels", "gap.txt"], "has an empty line"),
        (["--normalise", "1,2", "3"], "number, or three with commas"),
        (["--normalise", "0", "0"], "std is (0.0,), numbers above 0 expected"),
    ],
)
def test_wrong_options(tmp_path, monkeypatch, capsys, small_models, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gap.txt").write_text("a\n\nb\n")
    words = ["compile", str(small_models["small_cnn"]), "-o", "out.tflite", *options]
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code
    assert code != 0
    assert said in capsys.readouterr().err
