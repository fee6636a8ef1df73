# SPDX-License-Identifier: MIT
"""Loads and runs damaged files and command streams, by libFuzzer with ASan and UBSan.

With 64 bits, the NPU's calls run too, with the driver on the simulator; with 32 bits, as on a
board, everything that the CPU computes. c/load.c lists what ends a run.

The target `streams` runs what the verifier accepts on the simulator: no access may leave the
regions or write anything that the verifier does not report as written; and the verifier, built for
32 bits, must give the same verdicts.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

from .common import BUILD, FUZZ, C, Counts, FoundError, bits32

_DRIVER = sharing.REPO / "modules/ethosu/driver"
_TESTS = sharing.REPO / "host_tests/modules/ethosu/runtime"
_COMPARED = [f"{kind}{size}" for kind in ("cmp", "const_cmp") for size in (1, 2, 4, 8)]
_WRAPPED = [f"__sanitizer_cov_trace_{name}" for name in _COMPARED]
_WRAPPED_NPU = ["sim_host_map", "npu_execute"]
_DRIVER_CALLS = ("prepare", "start", "run", "wait_program", "cancel")
_WRAPPED_NPU += [f"ethosu_ext_{name}" for name in _DRIVER_CALLS]
_SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=all"
_FLAGS = [*cbuild.STRICT, "-O2", "-fsanitize=fuzzer,address,undefined"]
_FLAGS += ["-fno-sanitize-recover=all", f"-I{_TESTS}", *cbuild.INCLUDES]
_BOARD = _TESTS / "board_none.c"
_PAYLOAD = [f"-I{FUZZ}", f"-I{FUZZ.parent}", C / "mutate_payload.c", FUZZ / "mutate_stream.c"]
_LOAD = [C / name for name in ("load.c", "steps.c", "mutate_file.c")]
_LOAD += [_TESTS / "exercise.c", *_PAYLOAD]
# The parts of the driver that read a payload and verify its stream.
_PAYLOADS = r"device_u|ethosu_(payload|verify|fault|messages|text|products)"


def _objects(bits: int, *, learns: bool = True, named: str = "") -> list[Path]:
    """Compile driver, runtime and board, sanitized; instrumented for libFuzzer on request.

    Only files whose names begin with the pattern `named` are compiled.
    """
    options = [] if bits == 64 else [f"CPPFLAGS=-m{bits}"]
    options += [] if learns else [f"FLAGS_fuzz=-O1 -g {_SANITIZE}"]
    build = sharing.BUILD / f"sim_host/fuzz{'' if bits == 64 else bits}{'' if learns else '_plain'}"
    folders = (
        *(f"modules/ethosu/{name}" for name in ("driver", "runtime", "executorch")),
        "tools/sim_host",
    )
    sources = [path for folder in folders for path in sorted((sharing.REPO / folder).rglob("*.c"))]
    sources = [path for path in sources if path.parent.name != "defaults"]
    sources = [path for path in sources if re.match(named, path.name)]
    objects = [build / path.relative_to(sharing.REPO).with_suffix(".o") for path in sources]
    make_options = "SANITIZE=fuzz", f"BUILD={build}", *options
    sharing.make("tools/sim_host", *map(str, objects), *make_options)
    return objects


def _simulator() -> list[Path]:
    """Compile the sanitized simulator, uninstrumented, because only new code elsewhere counts."""
    build = sharing.BUILD / "npu_sim/fuzz_plain"
    sim = sharing.REPO / "tools/npu_sim"
    sources = [path for path in sorted(sim.glob("*/*.c")) if path.parent.name != "fuzz"]
    objects = [build / path.relative_to(sim).with_suffix(".o") for path in sources]
    sharing.make("tools/npu_sim/fuzz", *map(str, objects), f"BUILD={build}", "COVERAGE=")
    return objects


def _load(*options: str) -> Callable[[int], list[object]]:
    """Compile the program of c/load.c."""

    def parts(bits: int) -> list[object]:
        wrapped = [f"-Wl,--wrap={name}" for name in (*_WRAPPED, *_WRAPPED_NPU)]
        sources = [*options, *_LOAD]
        if bits == 64:
            return [*wrapped, *sources, C / "load_npu.c", *_objects(64), *_simulator()]
        objects = [path for path in _objects(32) if path.parent.name != "sim_host"]
        return [*wrapped[: len(_WRAPPED)], *sources, C / "load_npu_none.c", _BOARD, *objects]

    return parts


def _payloads(bits: int) -> list[object]:
    """Compile the program of c/payload.c."""
    return [C / "payload.c", *_PAYLOAD, *_objects(bits, named=_PAYLOADS)]


def _streams(bits: int) -> list[object]:
    """Compile the program of c/streams.c, which mutates Vela's streams.

    Instrumented, it would also mutate streams that reach new code, most of which are rejected.
    """
    objects = _objects(bits, learns=False, named=_PAYLOADS)
    sources = [C / "streams.c", C / "verdict.c", FUZZ / "mutate_stream.c"]
    return [f"-I{FUZZ}", *sources, *objects, *_simulator()]


def verdicts() -> Path:
    """Build the program of c/verdict.c with the verifier, with UBSan, for 32 bits."""
    bits32()
    sources = [path for path in sorted(_DRIVER.glob("*/*.c")) if re.match(_PAYLOADS, path.name)]
    flags = [*cbuild.STRICT, *cbuild.INCLUDES, "-m32", "-O1", "-DVERDICT_MAIN"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    return sharing.program("verdicts", ["gcc", *flags, C / "verdict.c", *sources, "-o"])


# The others load files.
_TARGETS = {
    "streams": _streams,
    "payloads": _payloads,
}


def program(target: str, bits: int, options: tuple[str, ...] = ()) -> Path:
    """A libFuzzer target, for this pointer size in bits; `options` are those of c/load.c."""
    parts = [*_FLAGS, *_TARGETS.get(target, _load(*options))(bits)]
    if bits == 32:
        bits32()
        parts.insert(0, "-m32")
    return sharing.program(f"loading{bits}", ["clang", *parts, "-lm", "-o"])


@dataclass(frozen=True)
class Loading:
    """The campaign on one corpus: a target, with this pointer size."""

    corpus: Path
    target: str = "models"
    bits: int = 64
    longest: int = 65_536
    options: tuple[str, ...] = ()
    chunk = 100_000

    @property
    def name(self) -> str:
        """Name of the campaign's saved state."""
        return f"{self.target}{self.bits}"

    @property
    def folder(self) -> Path:
        """Folder in which libFuzzer keeps inputs with new coverage."""
        return BUILD / self.name

    def run(self, seed: int, first: int, count: int, **environment: str) -> Counts:
        """Run this many inputs; a finding is saved in `folder` and named."""
        found = self.folder / "found"
        inputs = self.folder / "inputs"
        if first == 0:
            shutil.rmtree(inputs, ignore_errors=True)
        found.mkdir(parents=True, exist_ok=True)
        inputs.mkdir(exist_ok=True)
        options = [
            f"-runs={count}",
            f"-seed={(seed + first) % 2**31 + 1}",
            f"-max_len={self.longest}",
        ]
        options += ["-rss_limit_mb=2000", "-timeout=60", "-detect_leaks=0", "-mutate_depth=2"]
        options += ["-entropic=0", "-verbosity=0"]  # entropic scheduling takes a fifth of the time
        options += ["-reduce_inputs=0"] if self.target == "streams" else []
        options.append(f"-artifact_prefix={found}/")
        return self.fuzz([*options, inputs, self.corpus / self.target], **environment)

    def fuzz(self, arguments: list, **environment: str) -> Counts:
        """Run libFuzzer with these arguments."""
        run = program(self.target, self.bits, self.options)
        if self.target == "streams":
            environment = {"VERDICTS": str(verdicts())} | environment
        done = subprocess.run(
            [run, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, **environment},
        )
        if done.returncode != 0:
            saved = re.search(r"Test unit written to (.*)", done.stderr)
            raise FoundError(f"{_summary(done.stderr)}\nrepeat: {run} {saved[1] if saved else ''}")
        counts: Counts = json.loads(done.stderr[done.stderr.rindex("{") :])
        return counts


def _summary(text: str) -> str:
    """Extract error and location from a sanitizer's report."""
    wanted = re.compile(r"ERROR|runtime error|SUMMARY|Test unit|^ *#\d+ .* in |refused|guard")
    lines = [line for line in text.splitlines() if wanted.search(line)]
    return "\n".join(line for line in lines if not re.match(r"#\d+\t", line))[:3000]
