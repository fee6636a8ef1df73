# SPDX-License-Identifier: MIT
"""Writes the settings that Vela passes to its core for `ethosu compile`: `settings.py MODEL JSON`.

    {"vela_version": "5.2.0",
     "texts": [configuration text],
     "targets": [{"npu", "board": title or null, "system_config", "memory_mode", "standard",
                  "accelerator", "head", "text": index of texts, "options"}],
     "systems": [{"name", "title", "npu", "weights", "memories": [struct npu_memory]}
                 with what sim/latency.py's facts() has],
     "boards": [{"board", "npus", "heap", "rom", "fast", "reserve"}],
     "runtimes": [{"name", "limits": {rule: {"value", "message", "source"}}}],
     "flashing": [{"name", "title", "way", "largest"} with the settings of this way],
     "dtypes": {number in a .tflite: name},
     "renaming": [operator that only renames a tensor], "aside": [operator that computes nothing]}

The configuration of a target is its head followed by its text; `standard` marks the default of
`ethosu compile` for the NPU. `boards` has the room for a model on each board, by fit.py, in bytes;
`runtimes` the other runtimes for a `.tflite`, of answers/runtimes.py.
Vela's own command line code runs here, up to the call of its core, so that the page needs no second
list of Vela's options.
"""

import contextlib
import io
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ethosu.vela import vela as vela_command
from ethosu_tools import boards
from ethosu_tools.answers.runtimes import RUNTIMES
from ethosu_tools.boards import VelaFacts, systems, targets
from ethosu_tools.boards.systems import System
from ethosu_tools.boards.targets import Target
from ethosu_tools.compile import vela
from ethosu_tools.compile.leftover import ASIDE
from ethosu_tools.compile.plan.kernels import RENAMING
from ethosu_tools.link.flash.himax_image import FLASH
from ethosu_tools.model import DTYPES
from ethosu_tools.sim import fit, latency

# Start of the text that is the same for all targets of a configuration file.
_HEAD_LINES = 6


class _CalledError(Exception):
    """The arguments that Vela passed to its core."""


def _call(accelerator: str, _model: Any, _format: Any, config: str, options: str, **_: Any) -> None:
    raise _CalledError(accelerator, config, options)


def record(
    npu: str, target: Target, board: VelaFacts | None, model: Path
) -> tuple[str, str, str] | None:
    """Accelerator, configuration and options; None if Vela rejects the combination."""
    options = vela.vela_options(npu, target, board=board)
    with tempfile.TemporaryDirectory() as work, contextlib.redirect_stdout(io.StringIO()):
        try:
            vela_command.main([*options, "--output-dir", work, str(model)])
        except _CalledError as called:
            accelerator, config, passed = called.args
            return str(accelerator), str(config), str(passed)
        except Exception:  # Vela's exceptions have no common base
            return None
    raise RuntimeError("Vela ended without calling its core")


def combinations() -> Iterator[tuple[str, Target, VelaFacts | None, str | None, bool]]:
    """The targets on the page: each NPU with each memory mode, and each board as it is."""
    for npu, standard in targets.TARGETS.items():
        yield npu, standard, None, None, True
        for mode in targets.MEMORY_MODES:
            if mode != standard.memory_mode:
                yield npu, Target(standard.system_config, mode), None, None, False
    for board in boards.every():
        for npu in board.npus:
            if facts := boards.vela_facts(boards.load(board.name, npu)):
                target = Target(facts.system_config, facts.memory_mode)
                yield npu, target, facts, board.title, True


def timed(system: System) -> dict[str, Any]:
    """A system known to `ethosu check`, for a simulator that counts its cycles."""
    return {
        "name": system.name,
        "title": system.title,
        "npu": system.npu,
        "weights": system.weights.name,
        **latency.facts(system),
        "memories": [memory.for_simulator(regions) for memory, regions in system.memories],
    }


def flashing() -> Iterator[dict[str, Any]]:
    """The boards that the page can flash; `rom` is where /rom is in the flash."""
    for board in boards.every():
        for way in ("xmodem", "dfu"):
            if settings := board.flash.get(way):
                wanted = {"baud", "largest", "device", "partition", "address"} & settings.keys()
                place = {"rom": board.romfs.start - FLASH} if way == "xmodem" else {}
                facts = {"name": board.name, "title": board.title, "way": way, **place}
                yield {**facts, **{name: settings[name] for name in sorted(wanted)}}


def main() -> None:
    """Record all targets, and write the file."""
    model, output = Path(sys.argv[1]), Path(sys.argv[2])
    vela_command.regor.compile = _call
    texts: list[str] = []
    targets = []
    for npu, target, facts, title, standard in combinations():
        recorded = record(npu, target, facts, model)
        if recorded is None:
            continue
        accelerator, config, options = recorded
        lines = config.splitlines(keepends=True)
        head, text = "".join(lines[:_HEAD_LINES]), "".join(lines[_HEAD_LINES:])
        if text not in texts:
            texts.append(text)
        targets.append(
            {
                "npu": npu,
                "board": title,
                "system_config": target.system_config,
                "memory_mode": target.memory_mode,
                "standard": standard,
                "accelerator": accelerator,
                "head": head,
                "text": texts.index(text),
                "options": options,
            }
        )
    settings = {
        "vela_version": version("ethos-u-vela"),
        "texts": texts,
        "targets": targets,
        "systems": [timed(system) for system in systems.every()],
        "boards": [asdict(room) for board in boards.every() if (room := fit.room_of(board))],
        "runtimes": [asdict(each) for each in RUNTIMES if not each.programs],
        "flashing": list(flashing()),
        "dtypes": DTYPES,
        "renaming": RENAMING,
        "aside": ASIDE,
    }
    output.write_text(json.dumps(settings))


if __name__ == "__main__":
    main()
