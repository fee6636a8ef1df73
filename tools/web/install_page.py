# SPDX-License-Identifier: MIT
"""Installs the page as static files: `install_page.py PARTS ETHOSU_WASM OUTPUT`.

PARTS has node_modules, and optionally vela/vela.wasm. All files except the page and its service
worker are in a folder named after their content, so a browser may keep them forever. Beside each
file is its compressed form, for servers that send those. Prints file sizes, plain and compressed.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import wave
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ethosu_tools.base import paths
from ethosu_tools.model.samples import speech, wake_words

from tools.setup import discs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "setup/release"))
import notices

HERE = Path(__file__).parent
NAMES = ("answers/rules.py", "compile/remarks.py", "sim/figures.py")
RULES = [HERE.parent / "ethosu_tools" / name for name in NAMES]
PROGRAMS = [HERE / "page/answers" / f"{name}.py" for name in ("ask", "check", "timing")]
PROGRAMS += [HERE / "page/link/both.py"]
LISTS = ("settings.json", "examples.json")
KINDS = HERE.parent / "ethosu_tools/model/kinds.json"
OTHERS = (
    *("board/board_worker.mjs", "model/vela_worker.mjs", "media/sound_worklet.mjs"),
    *("file_notice.js", "style.css"),
)
# Python's library has no Brotli, but node's has.
COMPRESS = """
import fs from "node:fs";
import zlib from "node:zlib";
const { BROTLI_PARAM_LGWIN: window, BROTLI_PARAM_SIZE_HINT: size } = zlib.constants;
for (const name of process.argv.slice(1)) {
    const data = fs.readFileSync(name);
    const params = { [window]: 24, [size]: data.length };
    fs.writeFileSync(`${name}.br`, zlib.brotliCompressSync(data, { params }));
    fs.writeFileSync(`${name}.gz`, zlib.gzipSync(data, { level: 9 }));
}
"""
# Text, WebAssembly and models; recordings and pictures are small.
COMPRESSED = ("", ".css", ".html", ".js", ".json", ".py", ".tflite", ".txt", ".wasm")


class Example(NamedTuple):
    """A model, and the page's inputs for it."""

    name: str
    text: str
    script: str
    recording: str = ""  # spoken text
    voice: str = "en-us"  # an espeak-ng voice that the model recognises
    picture: str = ""


EXAMPLES = (
    Example("okay_nabu", "the wake word “okay nabu”", "wake_word", recording="okay nabu"),
    Example(
        "hey_jarvis",
        "the wake word “hey jarvis”",
        "wake_word",
        recording="hey jarvis",
        voice="en-us+f3",
    ),
    Example("discs", "finds red and green discs in a picture", "objects", picture="discs"),
    Example("small_cnn", "an image classifier of random weights, 16 x 16", "classify"),
    Example("mobilenet_v2", "MobileNetV2, 224 x 224, of random weights", "classify"),
)


def make_examples(models: Path) -> None:
    """Collect the example models in this folder."""
    models.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ethosu_tools.model.make_model", str(models)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, "mobilenet_v2"], check=True, stdout=subprocess.DEVNULL)
    for name in ("okay_nabu", "hey_jarvis"):
        shutil.copy(wake_words.load(name).model, models / f"{name}.tflite")
    (models / "discs.tflite").write_bytes(discs.make_model())


def script_of(example: Example) -> str:
    """The example's program, for its model."""
    text = (HERE / "examples" / f"{example.script}.py").read_text()
    text = text.partition("\n")[2]  # without the line on the licence
    if example.script == "wake_word":
        word = wake_words.load(example.name)
        facts = f'"{word.name}", {word.cutoff}, {word.window}\n'
        text = re.sub(r"(?<=^NAME, CUTOFF, WINDOW = ).*\n", facts, text, flags=re.MULTILINE)
    return re.sub(r"(?<=^NAME = ).*", f'"{example.name}"', text, flags=re.MULTILINE)


def write_wav(text: str, voice: str, file: Path) -> None:
    """Write a recording of speech by espeak-ng."""
    with wave.open(str(file), "wb") as sound:
        sound.setparams((1, 2, speech.RATE, 0, "NONE", ""))
        sound.writeframes(speech.say(text, voice).astype("<i2").tobytes())


def install_examples(parts: Path, page: Path) -> None:
    """Install models, recordings and pictures, and list them, with their programs, in the parts."""
    models = parts / "models"
    make_examples(models)
    folder = page / "examples"
    folder.mkdir()
    rows = []
    for example in EXAMPLES:
        row = {"name": example.name, "text": example.text, "script": script_of(example)}
        shutil.copy(models / f"{example.name}.tflite", folder)
        if example.recording:
            row["recording"] = f"{example.name}.wav"
            write_wav(example.recording, example.voice, folder / row["recording"])
        if example.picture:
            row["picture"] = f"{example.name}.png"
            (folder / row["picture"]).write_bytes(discs.png(discs.make_picture()))
        rows.append(row)
    (parts / "examples.json").write_text(json.dumps(rows))


def bundle(
    entries: list[Path], output: Path, *options: str, parts: Path
) -> dict[str, frozenset[str]]:
    """Make one minified script or style sheet of each file and all that it imports: return that.

    As .js, because not every server sends the type that browsers require for .mjs.
    """
    command = [
        "esbuild",
        *map(str, entries),
        f"--outdir={output}",
        "--entry-names=[name]",
        *options,
    ]
    command += ["--bundle", "--minify", "--format=esm", "--target=es2022", "--log-level=warning"]
    listed = parts / "bundle.json"
    modules = {**os.environ, "NODE_PATH": str(parts / "node_modules")}
    subprocess.run([*command, f"--metafile={listed}"], check=True, env=modules)
    return notices.bundled(listed, Path.cwd())


def write_notices(title: str, folder: Path, made_of: Mapping[str, frozenset[str]]) -> None:
    """Write licence texts and SBOM of the files with these names."""
    found = [file for file in sorted(folder.rglob("*")) if file.name in made_of]
    given = [
        notices.Binary(str(file.relative_to(folder)), file.read_bytes(), made_of[file.name])
        for file in found
    ]
    notices.write(folder, title, given)
    shutil.copyfile(notices.paths.root() / "LICENSE", folder / "LICENSE")


def digest(folder: Path) -> str:
    """Name a folder by its content."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    content = hashlib.sha256()
    for file in files:
        content.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode())
        content.update(file.read_bytes())
    return content.hexdigest()[:12]


def install_index(page: Path, build: str) -> None:
    """Install the page itself, with all that it names in the folder of the build."""
    text = (HERE / "page/index.html").read_text().replace('.mjs"', '.js"')
    text = re.sub(r' (href|src)="(?=[a-z])(?!data:)', rf' \1="{build}/', text)
    (page / "index.html").write_text(text)


def _is_compressed(file: Path) -> bool:
    return file.is_file() and file.suffix in COMPRESSED


def compress(folder: Path) -> None:
    """Write NAME.br and NAME.gz beside each file, as servers expect precompressed files."""
    files = [file for file in sorted(folder.rglob("*")) if _is_compressed(file)]
    command = ["node", "--input-type=module", "--eval", COMPRESS, *map(str, files)]
    subprocess.run(command, check=True)


def main() -> None:
    """Install it from scratch, so that no file of an older page remains."""
    parts, board, output = map(Path, sys.argv[1:4])
    new = output.with_name(output.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    files = new / "files"
    files.mkdir(parents=True)
    install_examples(parts, files)
    settings = parts / "settings.json"
    small = parts / "models" / "small_cnn.tflite"
    subprocess.run([sys.executable, str(HERE / "settings.py"), small, settings], check=True)
    vela = parts / "vela/vela.wasm"
    for file in (board, *RULES, *PROGRAMS, *([vela] if vela.exists() else [])):
        shutil.copy(file, files)
    tables = [*(parts.absolute() / name for name in LISTS), KINDS.absolute()]
    lists = [f"--alias:{path.name}={path}" for path in tables]
    # The terminal is a script of its own: it loads while the board starts.
    split = ("--splitting", "--chunk-names=[name]")
    known = f"--define:HAS_VELA={json.dumps(vela.exists())}"
    made_of = bundle([HERE / "page/main.mjs"], files, *split, *lists, known, parts=parts)
    made_of |= bundle([HERE / "page" / name for name in OTHERS], files, parts=parts)
    build = digest(files)
    files.rename(new / build)
    install_index(new, build)
    made_of |= bundle([HERE / "page/sw.js"], new, f'--define:BUILD="{build}"', parts=parts)
    made_of[board.name] = notices.inputs(board.absolute().with_name("firmware.map"))
    if vela.exists():
        made_of[vela.name] = notices.inputs(vela.with_suffix(".map").absolute())
    for word in (wake_words.load(each.name) for each in EXAMPLES if each.script == "wake_word"):
        name = notices.canonical(str(word.model), HERE, paths.root())
        made_of[f"{word.name}.tflite"] = frozenset([name])
    write_notices("web", new, made_of)
    compress(new)
    shutil.rmtree(output, ignore_errors=True)
    new.rename(output)
    for file in sorted([*output.iterdir(), *(output / build).iterdir()]):
        if _is_compressed(file):
            sizes = [file.with_name(file.name + end).stat().st_size for end in ("", ".gz", ".br")]
            print("{:20} {:9,} {:9,} gzip {:9,} Brotli".format(file.name, *sizes))


if __name__ == "__main__":
    try:
        main()
    except notices.NoticeError as error:
        sys.exit(str(error))
