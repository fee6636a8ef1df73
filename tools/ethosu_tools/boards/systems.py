# SPDX-License-Identifier: MIT
"""The systems that latency can be estimated for: boards, chips, and Vela's own examples.

Speeds and latencies come from Vela's `.ini` files, which users have for their chips. board.toml
or chips.toml maps them to memories and records what was checked.
"""

import argparse
import configparser
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from .. import boards
from ..base.errors import InputError, UsageError, checked_by
from . import VelaFacts, targets
from .facts import BoardFacts, Span

_HERE = Path(__file__).parent
_MODES = "Arm/vela.ini"  # Vela's memory modes
# Bytes per beat, by family.
_BEAT = {"u55": 8, "u65": 16, "u85": 16}
# Regions of a command stream, as bits: constants, fast scratch, all others.
_CONSTANTS, _FAST, _ALL = 0b001, 0b100, 0xFF
_EXTERNAL_AREAS = ("Dram", "OffChipFlash")
# Limit of numbers in Vela's files: the simulator uses 32-bit integers, and thousandths for speeds.
_LARGEST = 1e6


@dataclass(frozen=True)
class Memory:
    """A memory, in NPU cycles; `external`: no measured point checks its figures."""

    name: str
    bytes_per_cycle: float
    read_latency: int
    write_latency: int
    burst: int
    external: bool = False

    def for_simulator(self, regions: int) -> dict[str, int]:
        """Convert the figures to the simulator's units, as the memory of these regions."""
        return {
            "millibytes": min(max(1, round(self.bytes_per_cycle * 1000)), 2**32 - 1),
            "read_latency": self.read_latency,
            "write_latency": self.write_latency,
            "burst": self.burst,
            "regions": regions,
        }


@dataclass(frozen=True)
class System:
    """An NPU, its clock and its memories, and which hold weights, tensors and fast scratch."""

    name: str
    title: str
    npu: str
    clock_hz: float
    cpu_mhz: float  # 0 if unknown
    facts: VelaFacts
    weights: Memory
    tensors: Memory
    fast: Memory
    weight_memories: tuple[str, ...]  # names of memories for the weights, the default first
    checked: bool
    facts_of: Mapping[str, Any]

    def __post_init__(self) -> None:
        """Check that each memory has one set of figures."""
        known: dict[str, Memory] = {}
        for memory, _ in self.memories:
            if known.setdefault(memory.name, memory) != memory:
                raise InputError(f"{self.name}: {memory.name} has two sets of figures")

    @property
    def memories(self) -> list[tuple[Memory, int]]:
        """Each memory once, with the regions of a command stream that are in it."""
        rest = _ALL & ~_CONSTANTS & ~_FAST
        uses = ((self.weights, _CONSTANTS), (self.tensors, rest), (self.fast, _FAST))
        regions: dict[Memory, int] = {}
        for memory, bits in uses:
            regions[memory] = regions.get(memory, 0) | bits
        return list(regions.items())

    def spans(self, romfs: Span) -> list[tuple[Memory, int, int]]:
        """Return memories with start and size for the emulator, which takes the first match."""
        whole = 0, 1 << 32
        weights = [] if self.weights == self.tensors else [(self.weights, romfs.start, romfs.size)]
        return [*weights, (self.tensors, *whole)]

    @property
    def board(self) -> BoardFacts | None:
        """The board; None for a chip, an example or a user's own system."""
        return self.facts_of.get("board")

    @property
    def weights_in_heap(self) -> bool:
        """Whether the weights are with the tensors in the heap, and not in the memory of /rom."""
        usual = self.weight_memories[:1]
        return self.weights.name == self.tensors.name and usual not in ((), (self.weights.name,))

    def with_weights(self, memory: str) -> "System":
        """Return a copy with the weights in another memory."""
        return _build(self.name, self.title, self.npu, self.facts_of, memory)

    def with_npu(self, npu: str) -> "System":
        """Return a copy with another NPU."""
        memory = self.weights.name if self.weight_memories else None
        built = _build(self.name, self.title, npu, self.facts_of, memory)
        return replace(built, weight_memories=self.weight_memories)


def names() -> list[str]:
    """List the names of all systems."""
    return [board.name for board in boards.every() if board.estimate] + list(boards.chips())


def find(name: str, npu: str | None = None, weights: str | None = None) -> System:
    """Find a board or chip, optionally with another of its NPUs or memories for the weights."""
    name = boards.full_name(name)
    facts, own = _known(name, npu)
    if npu and npu not in own:
        raise UsageError(f"{name} has {' and '.join(own)}, not {npu}")
    built = _build(name, facts["title"], npu or own[0], facts, weights)
    if built.npu.rpartition("-")[0] != facts["family"]:  # Vela's file is for another family
        return replace(built, facts=example(built.npu).facts)
    return built


def _known(name: str, npu: str | None = None) -> tuple[dict[str, Any], list[str]]:
    """Return facts of a board or chip for one NPU, and all supported NPUs, its own first."""
    chips = boards.chips()
    name = boards.full_name(name)
    if name in chips:
        own = chips[name]["npu"]
        return {**chips[name], "family": own.rpartition("-")[0]}, [own]
    if name not in boards.names():
        raise boards.unknown("board or chip", name, names())
    board = boards.load(name, npu)
    vela = boards.vela_facts(board)
    if not board.estimate or not vela:
        raise InputError(f"{name}: its {boards.FILE} has no [estimate]")
    facts = {
        "board": board,
        "title": board.title,
        "config": vela.config,
        "memory_mode": vela.memory_mode,
        "cpu_mhz": board.clock_mhz,
        "family": (npu if npu in board.npus else board.npus[0]).rpartition("-")[0],
        **asdict(board.estimate),
    }
    return facts, list(targets.npus_of(board))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare --board and --npu, for `chosen`."""
    add_board(parser, "--board", boards.NPU_HELP)
    targets.add_npu_option(parser, "the NPU (default: the model's, else the board's)", default=None)


def add_board(parser: argparse._ActionsContainer, option: str, default: str) -> None:
    """Declare an option that takes a board or chip; unknown names are a command line error."""
    chips = ", ".join(boards.chips())
    text = f"board (`ethosu boards` lists them) or chip: {chips} (default: {default})"
    kind = checked_by(_known)
    parser.add_argument(option, type=kind, action=boards.Named, metavar="BOARD", help=text)


def every() -> list[System]:
    """Combine NPUs and weight memories of all boards and chips; add an example for each NPU."""
    fitted = {board.name: board.npus for board in boards.every()}
    named = [find(name, npu) for name in names() for npu in fitted.get(name, (None,))]
    all_weights = [each.with_weights(name) for each in named for name in each.weight_memories]
    return all_weights + [example(npu) for npu in targets.NPUS]


def example(npu: str) -> System:
    """Return the system that Vela assumes by default for an NPU."""
    target = targets.TARGETS[npu]
    names = target.system_config, target.memory_mode
    return custom(npu, targets.CONFIG_FILE, *names, title="Vela's example")


def custom(
    npu: str, config: str | Path, system_config: str, memory_mode: str, title: str = ""
) -> System:
    """Build a system from a section of a Vela file alone, without a board to map its memories."""
    facts = {
        "config": config,
        "memory_mode": memory_mode,
        "tensors": "",
        "weights": {"": system_config},
        "checked": False,
    }
    built = _build(system_config, title or str(config), npu, facts, None)
    return replace(built, weight_memories=())


def _vela_file(name: str) -> Path:
    path = Path(str(files("ethosu") / "config_files" / name))
    return path if path.is_file() else _HERE / name


def _read(paths: list[Path]) -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    for path in paths:
        try:
            parser.read_string(path.read_text(), str(path))
        except (OSError, UnicodeDecodeError, configparser.Error) as error:
            raise InputError(f"{path} is not a Vela configuration file: {error}") from None
    return parser


def _section(parser: configparser.ConfigParser, name: str, *heirs: str) -> dict[str, str]:
    """Read the entries of a section, including inherited ones."""
    if not parser.has_section(name):
        kind = name.partition(".")[0]
        known = [each.partition(".")[2] for each in parser.sections() if each.startswith(kind)]
        raise InputError(f"section [{name}] is missing; found {', '.join(known) or 'none'}")
    if name in heirs:
        raise InputError(f"[{name}] inherits from itself")
    own = dict(parser[name])
    parent = own.pop("inherit", None)
    return (_section(parser, parent, name, *heirs) if parent else {}) | own


def _number(section: Mapping[str, str], key: str, least: float, default: float | None) -> float:
    """Read a number of a section, at least `least`; required if `default` is None."""
    text = section.get(key.lower(), default)
    if text is None:
        raise InputError(f"{key} is missing")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf:
        raise InputError(f"{key} is {text!r}, expected a number of at least {least:g}")
    return value


def _memory(section: Mapping[str, str], area: str, beat: int, name: str) -> Memory:
    def number(key: str, least: float, default: float | None) -> float:
        value = _number(section, f"{area}_{key}", least, default)
        if value > _LARGEST:
            raise InputError(f"{area}_{key} is {value:g}, expected at most {_LARGEST:g}")
        return value

    return Memory(
        name=name or area,
        bytes_per_cycle=beat * number("ports_used", 1, 1) * number("clock_scale", 1e-6, None),
        read_latency=int(number("read_latency", 0, 0)),
        write_latency=int(number("write_latency", 0, 0)),
        burst=int(number("burst_length", 1, 1)),
    )


def _build(name: str, title: str, npu: str, facts: Mapping[str, Any], memory: str | None) -> System:
    config = facts.get("config", "chips.ini")
    path = config if isinstance(config, Path) else _vela_file(config)
    parser = _read([_vela_file(_MODES), *([path] if path != _vela_file(_MODES) else [])])
    memories = tuple(facts["weights"])
    memory = memories[0] if memory is None else memory
    if memory not in facts["weights"]:
        raise UsageError(f"{name} can have weights in {' or '.join(memories)}, not in {memory}")
    system_config = facts["weights"][memory] or facts["weights"][memories[0]]
    own = facts["weights"][memory] != ""
    beat = _BEAT[npu.split("-")[1]]
    external = facts.get("external", ())
    try:
        section = _section(parser, f"System_Config.{system_config}")
        mode = _section(parser, f"Memory_Mode.{facts['memory_mode']}")
        clock = _number(section, "core_clock", 1, None)
        areas = {port: section[f"{port.lower()}_port"] for port in ("Axi0", "Axi1")}
        fast = _memory(section, areas[mode.get("cache_mem_area", "Axi0")], beat, facts["tensors"])
        tensors = _memory(
            section, areas[mode.get("arena_mem_area", "Axi0")], beat, facts["tensors"]
        )
        # Vela's file specifies where constants are; for a board or chip, the memory's name does.
        constants = areas["Axi1" if memory else mode.get("const_mem_area", "Axi1")]
        weights = _memory(section, constants, beat, memory) if own else tensors
    except KeyError as error:
        raise InputError(f"{path}: [System_Config.{system_config}]: {error} is missing") from None
    except InputError as error:
        raise InputError(f"{path}: [System_Config.{system_config}]: {error}") from None
    if mode.get("arena_mem_area") == "Axi1":  # weights and tensors in DRAM
        tensors = replace(weights)
    if not facts["tensors"] and weights.name in _EXTERNAL_AREAS:
        external = (*external, weights.name)
    weights, tensors, fast = (
        replace(each, external=each.name in external) for each in (weights, tensors, fast)
    )
    return System(
        name=name,
        title=title,
        npu=npu,
        clock_hz=clock,
        cpu_mhz=float(facts.get("cpu_mhz", 0)),
        facts=VelaFacts(path, system_config, facts["memory_mode"]),
        weights=weights,
        tensors=tensors,
        fast=fast,
        weight_memories=memories,
        checked=bool(facts.get("checked")) and npu.startswith("ethos-u55"),
        facts_of=facts,
    )
