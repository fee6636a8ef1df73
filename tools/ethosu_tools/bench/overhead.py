# SPDX-License-Identifier: MIT
"""`ethosu bench overhead`: instructions, code and RAM that the module adds.

Counts guest instructions of the emulated board, outside the NPU, for loading a model and for
inferences, from Python and from C; bytes of RAM beyond the arena that Vela planned; bytes of text.
"""

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from .. import boards, coherence, paths, romfs, vela
from ..board import Board, QemuBoard
from ..errors import InputError, SetupError
from ..make_model import LARGE_MODELS, MODELS
from ..models import describe, read, suffix
from ..qemu import Machine
from ..ui import Ui

SHARED = ("hello_world_int8", "kws_ref_model", "vww_96_int8")
ON_BOARD = Path(__file__).with_name("overhead_on_board.py")

# What is counted on the board, in the order shown: its dicts have none. In C, `load` fills memory
# of a given size, as the peer's AllocateTensors does; who must ask for the size measures first.
COUNTED = (
    "instructions_per_run_into",
    "instructions_per_run_into_reserved",
    "instructions_per_run_into_with_copies",
    "instructions_per_predict",
    "instructions_per_invoke_in_c",
    "instructions_to_load",
    "instructions_to_load_unverified",
    "instructions_to_load_in_c",
    "instructions_to_load_in_c_unverified",
    "instructions_to_measure_in_c",
    "heap_bytes_of_1000_run_into",
    "bytes_copied_at_load",
    "object_bytes",
    "heap_bytes",
)

# The most that a model with one ethos-u operator may cost. TFLM's C++ interpreter with Arm's
# driver takes 981 instructions per inference, 7,140 to load, and 452 bytes.
AIMS: dict[str, float] = {
    "instructions_per_run_into": 1020,
    "instructions_per_run_into_reserved": 1020,
    "instructions_per_invoke_in_c": 490,
    "instructions_to_load_in_c_unverified": 7200,
    "verifier_instructions_per_word": 30,
    "heap_bytes_of_1000_run_into": 0,
    "bytes_copied_at_load": 0,
    "heap_bytes_beyond_vela_arena": 450,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    coherence.add_bench_option(parser)
    parser.add_argument(
        "models", nargs="*", type=Path, help="models, compiled or not (default: some that are here)"
    )
    boards.add_option(parser, "the board")
    vela.add_npu_option(parser, "another NPU than the board's", default=None)
    parser.add_argument(
        "--firmware",
        type=Path,
        help="an image with its .map (default: the one of make firmware)",
    )


def execute(args: argparse.Namespace, ui: Ui) -> dict[str, Any]:
    """Compile the models, put them into the board's ROM file system, count."""
    chosen = boards.chosen(args.board)
    npu = args.npu or chosen.npus[0]
    firmware = args.firmware or paths.firmware(chosen.name)
    with tempfile.TemporaryDirectory(prefix="ethosu-") as work:
        compiled = _compile(args.models or _models_here(Path(work)), npu, Path(work))
        image = romfs.build(
            {_rom_name(name, path): path.read_bytes() for name, path in compiled.items()}
        )
        rows = {}
        with (
            QemuBoard(
                Machine(
                    npu, board=chosen.name, romfs=image, firmware=firmware, coherence=args.coherence
                )
            ) as board,
            ui.progress("counting") as update,
        ):
            board.exec(ON_BOARD.read_text())
            for index, (name, path) in enumerate(compiled.items()):
                update(index, len(compiled))
                rows[name] = _measure(board, name, path)
    return {
        "board": f"{chosen.name} on QEMU",
        "npu": npu,
        **text_bytes(firmware.with_suffix(".map")),
        "aims": AIMS,
        "models": rows,
    }


def _models_here(work: Path) -> list[Path]:
    """Well-known models of ../shared, else small ones of the project; and a large one."""
    shared = paths.root().parent / "shared" / "models"
    models = [shared / f"{name}.tflite" for name in SHARED]
    made = ["weights_300k"]
    if not all(path.is_file() for path in models):
        models = []
        made = [*MODELS, *made]
    for name in made:
        models.append(work / f"{name}.tflite")
        models[-1].write_bytes((MODELS | LARGE_MODELS)[name]())
    return models


def _compile(models: list[Path], npu: str, work: Path) -> dict[str, Path]:
    compiled = {}
    for path in models:
        if path.stem in compiled:
            raise InputError(f"two models have the name {path.stem}")
        compiled[path.stem] = path
        if describe(path).npu is None:
            compiled[path.stem] = work / f"{path.stem}_vela.tflite"
            vela.compile_model(path, npu, compiled[path.stem])
    return compiled


def _rom_name(name: str, path: Path) -> str:
    return name + suffix(read(path))


def _measure(board: Board, name: str, path: Path) -> dict[str, Any]:
    operators = describe(path).npu_operators
    words = sum(operator.stream_bytes for operator in operators) // 4
    arena = max(operator.scratch_bytes for operator in operators)
    arena += max(operator.fast_scratch_bytes or 0 for operator in operators)
    measured: dict[str, Any] = board.eval(f"measure('/rom/{_rom_name(name, path)}')", timeout=120)
    found = {key: measured[key] for key in COUNTED}
    verifying = found["instructions_to_load_in_c"] - found["instructions_to_load_in_c_unverified"]
    return {
        "file_bytes": path.stat().st_size,
        "command_words": words,
        "vela_arena_bytes": arena,
        **found,
        "heap_bytes_beyond_vela_arena": found["heap_bytes"] - arena,
        "verifier_instructions_per_word": round(verifying / words, 1),
    }


def text_bytes(map_file: Path) -> dict[str, Any]:
    """Bytes of text and constants in an image: of each folder of the module, of U85's files."""
    try:
        lines = map_file.read_text(errors="replace")
    except OSError as error:
        raise SetupError(f"{map_file} is not there; build it with: make firmware") from error
    # Only what the linker kept: its memory map, not the list of discarded sections.
    _, _, kept = lines.partition("Linker script and memory map")
    folders: Counter[str] = Counter()
    u85 = 0
    section = re.compile(
        r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+0x([0-9a-f]+)\s+\S*/ethosu/(\S+)/(\w+)\.o$", re.M
    )
    for size, folder, file in section.findall(kept):
        folders[folder] += int(size, 16)
        u85 += int(size, 16) if file.endswith("_u85") else 0
    return {
        "text_bytes": dict(sorted(folders.items())),
        "text_bytes_without_kernels": folders.total() - folders["runtime/kernels"],
        "u85_text_bytes": u85,
    }


def render(data: dict[str, Any]) -> str:
    """Lay the figures out, a column for each model."""
    models = data["models"]
    keys = list(next(iter(models.values())))
    width = max(len(key) for key in keys)
    columns = models | {"aim": data["aims"]}
    widths = {name: max(len(name), 9) for name in columns}
    lines = ["  ".join([" " * width, *(f"{name:>{widths[name]}}" for name in columns)])]
    for key in keys:
        cells = (
            f"{column[key]:>{widths[name]},}" if key in column else ""
            for name, column in columns.items()
        )
        lines.append("  ".join([f"{key.replace('_', ' '):{width}}", *cells]).rstrip())
    text = ", ".join(f"{folder} {size:,}" for folder, size in data["text_bytes"].items())
    text += f"; without kernels {data['text_bytes_without_kernels']:,}"
    text += f", for Ethos-U85 alone {data['u85_text_bytes']:,}"
    return "\n".join([*lines, "", f"bytes of text: {text}"])
