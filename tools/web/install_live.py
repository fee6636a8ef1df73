# SPDX-License-Identifier: MIT
"""Installs the runtime for the book's Python blocks: `install_live.py ETHOSU_WASM FOLDER`."""

import json
import shutil
import sys
from pathlib import Path

from ethosu_tools.base import paths
from ethosu_tools.model import romfs
from install_page import bundle, notices, write_notices

from tools.setup import doc_rom

HERE = Path(__file__).parent


def main() -> None:
    """Fill the folder."""
    board, folder = map(Path, sys.argv[1:3])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    scripts = [HERE / "live/live.mjs", HERE / "live/live_worker.mjs"]
    made_of = bundle(scripts, folder, parts=paths.work("web_parts"))
    shutil.copy(board, folder)
    files = doc_rom.files()
    (folder / "rom.img").write_bytes(romfs.build(files))
    (folder / "files.json").write_text(json.dumps(list(files)))
    made_of[board.name] = notices.inputs(board.absolute().with_name("firmware.map"))
    write_notices("live", folder, made_of)


if __name__ == "__main__":
    try:
        main()
    except notices.NoticeError as error:
        sys.exit(str(error))
