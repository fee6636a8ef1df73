# SPDX-License-Identifier: MIT
"""What the page's JavaScript writes is what the tools' Python writes, or reads as the same."""

import json
import subprocess

import needs
import numpy as np
import pytest
from ethosu_tools import paths, romfs, tflite
from ethosu_tools.tflite.metadata import get

PAGE = paths.root() / "tools/web/page"


def run(code, *words):
    needs.web()
    command = ["node", "--input-type=module", "--eval", code, *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, timeout=120).stdout


@pytest.mark.parametrize("sizes", [[], [0], [1, 2, 3], [15, 16, 17, 127, 128, 70_000]])
def test_romfs(sizes, tmp_path):
    random = np.random.default_rng(3)
    files = {f"ä{i}.bin": random.bytes(size) for i, size in enumerate(sizes)}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    code = (
        f"import {{ build }} from '{PAGE}/romfs.mjs'; import fs from 'node:fs';"
        "const [folder, names] = process.argv.slice(1);"
        "const read = (name) => [name, new Uint8Array(fs.readFileSync(`${folder}/${name}`))];"
        "fs.writeSync(1, build(new Map(JSON.parse(names).map(read))));"
    )
    assert run(code, tmp_path, json.dumps(list(files))) == romfs.build(files)


def test_metadata(small_models, tmp_path):
    """Twice, so that the second replaces; all else stays as it was."""
    model = small_models["small_streaming"]
    code = (
        f"import {{ put }} from '{PAGE}/tflite.mjs'; import fs from 'node:fs';"
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
