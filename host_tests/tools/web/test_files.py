# SPDX-License-Identifier: MIT
"""The page's JavaScript and the tools' Python write identical or equivalent files."""

import json
import re
import subprocess

import numpy as np
import pytest
from ethosu_tools.base import paths
from ethosu_tools.model import romfs, tflite
from ethosu_tools.model.tflite import model_metadata
from ethosu_tools.model.tflite.metadata import get

from . import needed

PAGE = paths.root() / "tools/web/page"


# Folders of the page, from the bottom to the top; main.mjs puts them together.
FOLDERS = ("model", "media", "board", "answers", "link", ".")


def test_a_folder_imports_only_from_those_below():
    rank = {PAGE / folder: number for number, folder in enumerate(FOLDERS)}
    imports = [
        (path, (path.parent / name).resolve())
        for path in PAGE.rglob("*.mjs")
        for name in re.findall(r'(?:from |import\()"(\.[^"]+)"', path.read_text())
    ]
    own = [(path, found) for path, found in imports if found.is_relative_to(PAGE)]
    assert len(own) > 20 and all(found.is_file() for _, found in imports)
    assert [each for each in own if rank[each[0].parent] < rank[each[1].parent]] == []


def run(code, *words):
    needed.web()
    command = ["node", "--input-type=module", "--eval", code, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout


@pytest.mark.parametrize("sizes", [[], [0], [1, 2, 3], [15, 16, 17, 127, 128, 70_000]])
def test_romfs(sizes, tmp_path):
    random = np.random.default_rng(3)
    files = {f"ä{i}.bin": random.bytes(size) for i, size in enumerate(sizes)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    code = (
        f"import {{ build }} from '{PAGE}/model/romfs.mjs'; import fs from 'node:fs';"
        "const [folder, names] = process.argv.slice(1);"
        "const read = (name) => [name, new Uint8Array(fs.readFileSync(`${folder}/${name}`))];"
        "fs.writeSync(1, build(new Map(JSON.parse(names).map(read))));"
    )
    assert run(code, tmp_path, json.dumps(list(files))) == romfs.build(files)


def test_metadata(small_models, tmp_path):
    """The page writes the tools' metadata, twice, and changes nothing else."""
    model = small_models["small_streaming"]
    code = (
        f"import {{ put }} from '{PAGE}/model/tflite.mjs'; import fs from 'node:fs';"
        "const text = (words) => new TextEncoder().encode(words);"
        "let model = new Uint8Array(fs.readFileSync(process.argv[1]));"
        "model = put(model, { one: text('first'), two: text('') });"
        "model = put(model, { one: text('later and longer') });"
        "fs.writeFileSync(process.argv[2], model);"
    )
    out = tmp_path / "out.tflite"
    run(code, model, out)
    data = out.read_bytes()
    assert get(data, "one") == b"later and longer" and get(data, "two") == b""
    assert data.endswith(model.read_bytes()) and (len(data) - model.stat().st_size) % 64 == 0
    before, after = tflite.describe(model), tflite.describe(out)
    assert (before.inputs, before.outputs) == (after.inputs, after.outputs)


@pytest.mark.parametrize("labels", [(), ("one", "zwei")])
def test_labels_are_kept(small_models, compiled, labels, tmp_path):
    """Labels stored by `ethosu compile` are kept."""
    metadata = model_metadata.ModelMetadata(labels, (127.5,), (127.5,))
    source = tmp_path / "source.tflite"
    source.write_bytes(model_metadata.write(small_models["small_cnn"].read_bytes(), metadata, 1, 1))
    code = (
        f"import {{ copyMetadata }} from '{PAGE}/model/tflite.mjs'; import fs from 'node:fs';"
        "const [source, entry, compiled] = process.argv.slice(1).map("
        "(name) => new Uint8Array(fs.readFileSync(name)));"
        "const entries = new Map(entry.length ? [['TFLITE_METADATA', entry]] : []);"
        "fs.writeSync(1, copyMetadata(source, entries, compiled));"
    )
    model = compiled(small_models["small_cnn"])
    entry = tmp_path / "entry"
    entry.write_bytes(get(source.read_bytes(), model_metadata.ENTRY) or b"")
    found = run(code, source, entry, model)
    expected = model_metadata.copy(source.read_bytes(), model.read_bytes())
    assert model_metadata.archive(found) == model_metadata.archive(expected)
    entry = model_metadata.ENTRY
    assert get(found, entry) == get(expected, entry) and bool(labels) == (b"PK" in found)


@pytest.mark.parametrize("rate", [8000, 16000, 22050, 44100, 48000])
def test_sound_at_another_rate(rate):
    """Sound at another rate keeps tones below 8 kHz, and loses those above."""
    low, high = 1000, 11000
    code = (
        f"import {{ Resampler }} from '{PAGE}/media/resample.mjs'; import fs from 'node:fs';"
        "const [rate, tone] = process.argv.slice(1).map(Number);"
        "const resampler = new Resampler(rate, 16000);"
        "const sound = Float32Array.from({ length: rate / 5 }, (_, i) =>"
        " Math.sin(2 * Math.PI * tone * i / rate));"
        "const found = [];"
        "for (let at = 0; at < sound.length; at += 128)"
        " resampler.take(sound.subarray(at, at + 128), (value) => found.push(value));"
        "fs.writeSync(1, new Uint8Array(Float32Array.from(found).buffer));"
    )
    found = np.frombuffer(run(code, rate, low), np.float32)
    assert 3100 < len(found) <= 3200
    times = np.arange(len(found)) / 16000
    begun = slice(64, None)  # half of the filter sees silence before
    assert np.abs(found - np.sin(2 * np.pi * low * times))[begun].max() < 2e-3
    if rate > 2 * high:
        assert np.abs(np.frombuffer(run(code, rate, high), np.float32))[begun].max() < 2e-3
