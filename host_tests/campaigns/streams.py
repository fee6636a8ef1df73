# SPDX-License-Identifier: MIT
"""Accepted means harmless: mutated Vela command streams go to the verifier, then to the NPU.

The verifier is built for 64 bits and for 32; both must agree on each stream. Accepted streams run
on the simulator, and no access may leave the regions or write anything that the verifier does not
report as written. The programs are in c/; streams.c documents their output.
"""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild

from .common import FUZZ, C, Counts, FoundError, bits32, repeat

_DRIVER = cbuild.REPO / "modules/ethosu/driver"
_VERIFIER = ("device_u*", *(f"ethosu_{part}" for part in ("fault", "products", "verify*")))
_SOURCES = [
    *(C / name for name in ("changed.c", "corpus.c")),
    FUZZ / "mutate_stream.c",
]
_FLAGS = [*cbuild.STRICT, "-Wshadow", *cbuild.INCLUDES, f"-I{C}", f"-I{FUZZ}"]


def _runner() -> Path:
    """The program of c/streams.c, with ASan and UBSan, for 64 bits."""
    board = cbuild.C / "standalone_board.c"
    sources = [C / "streams.c", *_SOURCES, board]
    archives = cbuild.archives("address", cbuild.DRIVER, cbuild.SIM)
    libraries = ["-Wl,--start-group", *archives, "-Wl,--end-group", "-lm"]
    flags = [*_FLAGS, *cbuild.SANITIZE["address"]]
    return sharing.program("streams", ["gcc", *flags, *sources, *libraries, "-o"])


def _verdicts() -> Path:
    """The program of c/verdicts.c with the verifier, with UBSan, for 32 bits."""
    verifier = [path for part in _VERIFIER for path in sorted(_DRIVER.glob(f"{part}.c"))]
    flags = [*_FLAGS, "-m32", "-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"]
    sources = [C / "verdicts.c", *_SOURCES, *verifier]
    return sharing.program("verdicts", ["gcc", *flags, *sources, "-o"])


@dataclass(frozen=True)
class Streams:
    """The campaign on one corpus."""

    corpus: Path
    chunk = 100_000

    def run(self, seed: int, first: int, count: int) -> Counts:
        """Run streams of these numbers; FoundError reports the first ones that are not harmless."""
        arguments = [self.corpus / "streams", *map(str, (seed, first, count))]
        bits32()
        with subprocess.Popen([_verdicts(), *arguments], stdout=subprocess.PIPE) as verdicts:
            done = _run(["run", *arguments], stdin=verdicts.stdout)
        if done.returncode != 0:
            number = re.search(r"^stream (\d+) of", done.stderr, re.MULTILINE)
            place = (int(number[1]), 1) if number else (first, count)
            what = "\n".join(done.stderr.splitlines()[:20])
            raise FoundError(f"{what}\n{repeat('streams', seed, *place)}")
        return json.loads(done.stdout)

    def run_unverified(self, seed: int, first: int, count: int) -> Counts:
        """The same with all streams, including rejected ones: shows what the verifier prevents."""
        arguments = [self.corpus / "streams", *map(str, (seed, first, count))]
        return json.loads(_run(["unverified", *arguments]).stdout)


def _run(arguments: list, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([_runner(), *arguments], capture_output=True, text=True, **options)
