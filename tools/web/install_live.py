# SPDX-License-Identifier: MIT
"""Installs the runtime for the book's Python blocks: `install_live.py ETHOSU_WASM FOLDER`."""

import json
import shutil
import sys
from pathlib import Path

import doc_rom
from ethosu_tools import paths, romfs

HERE = Path(__file__).parent
BOARD_JS = paths.web_runner().with_name("board.mjs")


def main() -> None:
    """Fill the folder."""
    board, folder = map(Path, sys.argv[1:3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    # As .js: not every server knows the type of .mjs.
    for file in (HERE / "live/live.mjs", HERE / "live/live_worker.mjs", BOARD_JS):
        text = file.read_text().replace('.mjs"', '.js"')
        (folder / file.name).with_suffix(".js").write_text(text)
    shutil.copy(board, folder)
    files = doc_rom.files()
    (folder / "rom.img").write_bytes(romfs.build(files))
    (folder / "files.json").write_text(json.dumps(list(files)))


if __name__ == "__main__":
    main()
