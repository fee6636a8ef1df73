# SPDX-License-Identifier: MIT
"""Generates the tools' binding of the C library from its headers: `make library-binding`.

cffi reads the preprocessed headers and writes a Python module with all structures and functions.
`ethosu_tools/base/library.py` loads it.

Usage: library_binding.py OUTPUT; CC names the compiler.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

from cffi import FFI

ROOT = Path(__file__).resolve().parents[2]
HEADERS = {
    "modules/ethosu/driver/include": ("ethosu_ext.h",),
    "modules/ethosu": (),
    "modules/ethosu/runtime/include": ("ethosu_model.h", "ethosu_describe.h"),
    "modules/ethosu/audio": ("ethosu_audio.h",),
    "tools/npu_sim": ("npu_sim.h",),
    "tools/sim_host": ("sim_host.h",),
}
# Add-ons name theirs.
ADDED = [
    Path(header)
    for path in sorted(ROOT.glob("modules/**/binding.toml"))
    for header in tomllib.loads(path.read_text())["headers"]
]
# cffi knows the types of the C library except this one.
SYSTEM = {"sys/types.h": "typedef long off_t;\n"} | dict.fromkeys(
    ("stdbool.h", "stddef.h", "stdint.h", "stdio.h", "string.h"), ""
)
FOLDERS = (*HEADERS, *(str(header.parent) for header in ADDED))
NAMES = (*(name for names in HEADERS.values() for name in names), *(each.name for each in ADDED))
# cffi accepts declarations only.
FUNCTION = re.compile(r"^static inline.*?^}$", re.MULTILINE | re.DOTALL)


def preprocessed(names: Iterable[str], *options: str) -> str:
    """Return what the preprocessor makes of these headers, which may be in any of the folders."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in SYSTEM.items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_text(content)
        includes = "".join(f'#include "{name}"\n' for name in names)
        command = [os.environ.get("CC", "cc"), "-E", "-P", "-nostdinc", "-D__attribute__(x)="]
        command += [f"-I{path}" for path in (folder, *(ROOT / each for each in FOLDERS))]
        run = subprocess.run(
            [*command, *options, "-"], input=includes, capture_output=True, check=True, text=True
        )
    return run.stdout


def declarations(names: Iterable[str] = NAMES) -> str:
    """Return all declarations of the headers."""
    return FUNCTION.sub("", preprocessed(names))


def main(output: Path) -> None:
    """Write the binding."""
    ffi = FFI()
    ffi.cdef(declarations())
    ffi.set_source(output.stem, None)
    output.parent.mkdir(parents=True, exist_ok=True)
    ffi.emit_python_code(str(output))
    output.touch()  # cffi writes nothing if nothing changed


if __name__ == "__main__":
    main(Path(sys.argv[1]))
