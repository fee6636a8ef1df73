# SPDX-License-Identifier: MIT
"""Lays the page out as static files: `lay_out.py PARTS ETHOSU_WASM OUTPUT`.

PARTS has vela/vela.wasm and node_modules. Says what each file has, as it is and compressed.
"""

import gzip
import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pymicro_wakeword

HERE = Path(__file__).parent
BOARD_JS = HERE.parents[1] / "boards/WEB/js/board.mjs"
NPM_FILES = (
    "@xterm/xterm/lib/xterm.mjs",
    "@xterm/xterm/css/xterm.css",
    "@xterm/addon-fit/lib/addon-fit.mjs",
)
# Only for node.
NOT_IN_PAGE = ("vela_node.mjs",)
EXAMPLES = (
    ("small_cnn.tflite", "a small image classifier: 16 x 16 pixels, 10 classes"),
    ("small_streaming.tflite", "a wake-word model in miniature, which keeps state"),
    ("okay_nabu.tflite", "the wake word “okay nabu”, a real streaming model"),
    ("hey_jarvis.tflite", "the wake word “hey jarvis”"),
    ("mobilenet_v2.tflite", "MobileNetV2 1.0 for 224 x 224 images, of random weights"),
)


def make_examples(models: Path) -> None:
    """Have the example models there."""
    models.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "ethosu_tools.make_model", str(models)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, "mobilenet_v2"], check=True, stdout=subprocess.DEVNULL)
    words = Path(pymicro_wakeword.__file__).parent / "models"
    for name in ("okay_nabu.tflite", "hey_jarvis.tflite"):
        shutil.copy(words / name, models)


def lay_out_licences(parts: Path, folder: Path) -> None:
    """The licences of all that the page is made of, as they ask for."""
    root = HERE.parents[1]
    pins = tomllib.loads((root / "firmware/micropython.toml").read_text())
    (vela,) = (parts / "vela").glob("ethos_u_vela-*/LICENSE.txt")
    sources = {
        "micropython-ethosu": root / "LICENSE",
        "micropython": root / "build/micropython" / pins["default"] / "LICENSE",
        "ethos-u-vela": vela,
        "ethos-u-vela-third-party": vela.with_name("THIRDPARTY.md"),
        "xterm": parts / "node_modules/@xterm/xterm/LICENSE",
        "xterm-addon-fit": parts / "node_modules/@xterm/addon-fit/LICENSE",
    }
    folder.mkdir()
    for name, file in sources.items():
        shutil.copy(file, folder / f"{name}.txt")


def name_as_servers_know(folder: Path) -> None:
    """Rename x.mjs to x.js: not every server knows the type of .mjs, as browsers want it."""
    for file in [*folder.glob("*.mjs"), *folder.glob("*.html")]:
        text = file.read_text().replace('.mjs"', '.js"')
        file.write_text(text)
        if file.suffix == ".mjs":
            file.rename(file.with_suffix(".js"))


def main() -> None:
    """Lay it out anew, so that no file of an older page stays."""
    parts, board, output = map(Path, sys.argv[1:4])
    new = output.with_name(output.name + ".new")
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(HERE / "page", new, ignore=shutil.ignore_patterns(*NOT_IN_PAGE))
    make_examples(parts / "models")
    settings = parts / "settings.json"
    small = parts / "models" / "small_cnn.tflite"
    subprocess.run([sys.executable, str(HERE / "settings.py"), small, settings], check=True)
    (new / "examples").mkdir()
    for name, _ in EXAMPLES:
        shutil.copy(parts / "models" / name, new / "examples")
    rows = [{"name": name, "text": text} for name, text in EXAMPLES]
    (new / "examples.json").write_text(json.dumps(rows))
    for file in (board, BOARD_JS, settings, parts / "vela/vela.wasm"):
        shutil.copy(file, new)
    for name in NPM_FILES:
        shutil.copy(parts / "node_modules" / name, new)
    name_as_servers_know(new)
    lay_out_licences(parts, new / "licences")
    shutil.rmtree(output, ignore_errors=True)
    new.rename(output)
    for file in sorted(output.iterdir()):
        if file.is_file():
            content = file.read_bytes()
            print(f"{file.name:20} {len(content):9,} {len(gzip.compress(content, 9)):9,} gzip")


if __name__ == "__main__":
    main()
