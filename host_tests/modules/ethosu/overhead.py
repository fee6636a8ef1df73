# SPDX-License-Identifier: MIT
"""Counts the module's instructions, code and RAM on an emulated board.

Instructions are those of the guest, outside the NPU, for loading a model and for inferences, from
Python and from C. RAM is in bytes beyond the arena that Vela planned.
"""

import re
import tempfile
from collections import Counter
from pathlib import Path

from ethosu_tools import boards
from ethosu_tools.answers import views
from ethosu_tools.base import paths
from ethosu_tools.boards.coherence import OFF
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import vela
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile, describe, romfs

ON_BOARD = Path(__file__).with_name("overhead_on_board.py")

# The maximum cost of a model with one ethos-u operator. TFLM's C++ interpreter with Arm's
# driver takes 981 instructions per inference, 7,140 to load, and 452 bytes.
AIMS = {
    "instructions_per_run_into": 770,
    "instructions_per_run_into_reserved": 645,
    "instructions_per_invoke_in_c": 410,
    "instructions_to_load_in_c_unverified": 6950,
    "verifier_instructions_per_word": 30,
    "heap_bytes_of_100_run_into": 0,
    "bytes_copied_at_load": 0,
    "heap_bytes_beyond_vela_arena": 450,
}


def measure(files, npu=None, firmware=None):
    """Count for each model, compiled or not, by name; prints a table (shown by pytest -s)."""
    board = boards.chosen()
    npu = npu or board.npus[0]
    firmware = firmware or paths.firmware(board.name)
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        compiled = {path.stem: _compiled(path, npu, Path(work)) for path in files}
        roms = {name: name + ModelFile(path).kind.suffix for name, path in compiled.items()}
        image = romfs.build({roms[name]: path.read_bytes() for name, path in compiled.items()})
        # The board's clock counts instructions, so that interrupts do not depend on a busy host.
        machine = Machine(
            emulated(board.name, npu, firmware=firmware, coherence=OFF),
            romfs=image,
            repeatable=True,
        )
        with QemuBoard(machine) as running:
            running.exec(ON_BOARD.read_text())
            rows = {
                name: _row(path, running.eval(f"measure('/rom/{roms[name]}')", timeout=120))
                for name, path in compiled.items()
            }
    figures = {"models": rows, **text_bytes(firmware.with_suffix(".map"))}
    _show(npu, figures)
    return figures


def _compiled(path, npu, work):
    if describe(path).npu:
        return path
    output = work / f"{path.stem}_vela.tflite"
    vela.compile_model(path, npu, output)
    return output


def _row(path, counted):
    operators = describe(path).npu_operators
    words = sum(operator.stream_bytes for operator in operators) // 4
    arena = max(operator.scratch_bytes for operator in operators)
    arena += max(operator.fast_scratch_bytes or 0 for operator in operators)
    verifying = counted["instructions_to_load_in_c"]
    verifying -= counted["instructions_to_load_in_c_unverified"]
    return {
        "file_bytes": path.stat().st_size,
        "command_words": words,
        "vela_arena_bytes": arena,
        **{key: counted[key] for key in sorted(counted)},
        "heap_bytes_beyond_vela_arena": counted["heap_bytes"] - arena,
        "verifier_instructions_per_word": round(verifying / words, 1),
    }


def text_bytes(map_file):
    """Bytes of text and constants in an image: for each room of the module, and for U85's files."""
    # Only linked sections, in the memory map, count, not the list of discarded ones.
    _, _, kept = map_file.read_text(errors="replace").partition("Linker script and memory map")
    folders = Counter()
    u85 = 0
    section = re.compile(
        r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+"
        r"\S*/ethosu/(\S+)/(?:defaults\.a\()?(\w+)\.o\)?$",
        re.M,
    )
    for size, folder, file in section.findall(kept):
        room = re.match(r"runtime/kernels|\w+", folder)[0]  # kernels may be left out
        folders[room] += int(size, 16)
        u85 += int(size, 16) if file.endswith("_u85") else 0
    return {
        "text_bytes": dict(sorted(folders.items())),
        "text_bytes_without_kernels": folders.total() - folders["runtime/kernels"],
        "u85_text_bytes": u85,
    }


def _show(npu, figures):
    columns = figures["models"] | {"aim": AIMS}
    head = (f"on {npu}", *columns)
    keys = next(iter(figures["models"].values()))
    rows = [
        (key, *(f"{column[key]:,}" if key in column else "" for column in columns.values()))
        for key in keys
    ]
    print("\n" + views.text(head, rows, *columns))
    print(*(f"text of {name}: {size:,}" for name, size in figures["text_bytes"].items()), sep="\n")
    for key in ("text_bytes_without_kernels", "u85_text_bytes"):
        print(f"{key}: {figures[key]:,}")
