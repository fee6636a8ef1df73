# SPDX-License-Identifier: MIT
"""libFuzzer on the payload parser and the verifier, from Vela's payloads on."""

from pathlib import Path

import pytest
import sharing

from modules.ethosu.driver import cbuild
from modules.ethosu.driver.streams import npu_calls

DRIVER = cbuild.REPO / "modules/ethosu/driver"
PARTS = ("payload", "verify*", "fault", "names", "sentences", "format", "products")
FILES = ("device_u*.c", *(f"ethosu_{part}.c" for part in PARTS))


@pytest.fixture(scope="module")
def fuzzer() -> Path:
    """The program of c/fuzz_payload.c."""
    sources = [path for pattern in FILES for path in sorted(DRIVER.glob(pattern))]
    sanitize = ["-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all"]
    flags = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-g", *sanitize]
    main = cbuild.C / "fuzz_payload.c"
    return sharing.program(
        "fuzz_payload", ["clang", *flags, *cbuild.INCLUDES, main, *sources, "-o"]
    )


def fuzz(fuzzer: Path, corpus: Path, models: list[Path], runs: int) -> None:
    """Run so many inputs; libFuzzer fails at the first finding and saves it in `corpus`."""
    corpus.mkdir()
    for number, model in enumerate(models):
        for call in npu_calls(model):
            (corpus / f"seed_{number}").write_bytes(call.payload)
    options = [f"-runs={runs}", "-seed=1", "-max_len=16384", f"-artifact_prefix={corpus}/"]
    cbuild.run([fuzzer, *options, corpus])


def test_payloads_from_anywhere_are_read_safely(fuzzer, compiled, small_models, tmp_path) -> None:
    """50,000 inputs without a finding."""
    models = [
        compiled(path, npu)
        for path in small_models.values()
        for npu in ("ethos-u55-128", "ethos-u85-256")
    ]
    fuzz(fuzzer, tmp_path / "corpus", models, 50_000)


@pytest.mark.slow
def test_millions_of_payloads_are_read_safely(fuzzer, compiled, small_models, tmp_path) -> None:
    """3,000,000 inputs without a finding."""
    models = [
        compiled(path, npu)
        for path in small_models.values()
        for npu in ("ethos-u55-128", "ethos-u65-512", "ethos-u85-1024")
    ]
    fuzz(fuzzer, tmp_path / "corpus", models, 3_000_000)
