# SPDX-License-Identifier: MIT
"""Pools give TFLite's results as all Vela releases program them."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from ethosu_tools.boards.targets import TARGETS
from ethosu_tools.model.vela_versions import TESTED

from .. import coverage, vela
from ..builder import Builder
from ..case import Case, feeds
from ..check import Result, Verdict, reference, simulate
from ..draws import Draws
from ..families import U55_U65, U85
from ..known_defects.defects import Register
from ..known_defects.test_defects import with_registers
from ..operators.convolution import SAME, VALID, window

KINDS = ("MAX_POOL_2D", "AVERAGE_POOL_2D")
NPUS = ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")


def make(kind: str, padding: int, npu: str, dtype: str = "int8", stride: int = 1) -> Case:
    """Make a single pool at the start of its stream."""
    kernel = 3
    b = Builder(Draws(replay=()))
    x = b.input((1, 9, 10, 20), dtype, 0.05, 0 if dtype == "int16" else 5)
    rows, columns = (window(size, kernel, stride, 1, padding) for size in x.shape[1:3])
    out = b.tensor((1, rows, columns, 20), dtype, x.scale, x.zero_point)
    options = {"strideH": stride, "strideW": stride, "filterHeight": kernel, "filterWidth": kernel}
    b.operator(kind, [x], [out], "Pool2DOptions", padding=padding, **options)
    rows_of_inputs = feeds(np.random.default_rng(0), b.inputs, False)
    family = U85 if "u85" in npu else U55_U65
    target = TARGETS[npu]
    vela_options = ("--system-config", target.system_config, "--memory-mode", target.memory_mode)
    return Case(family, None, (), b.finish(), npu, vela_options, (kind,), rows_of_inputs)


def verdict(case: Case, model: bytes) -> Result:
    """Return the simulator's outputs of a compiled model."""
    return simulate(case, Result(Verdict.EXACT, compiled=model, expected=reference(case)))


def scaled(model: bytes) -> bytes:
    """Divide a pool's OFM_SCALE by four, as another Vela release might set it."""
    rows = [
        Register(at, "OFM_SCALE", state["OFM_SCALE"][0], state["OFM_SCALE"][0] + 2)
        for at, (name, _, state) in enumerate(coverage.operations(model))
        if name == "POOL"
    ]
    assert rows
    return with_registers(model, rows)


OBEYED = {
    ("AVERAGE_POOL_2D", VALID, "ethos-u55-128"),  # the average uses the division
    ("AVERAGE_POOL_2D", VALID, "ethos-u65-512"),
    ("MAX_POOL_2D", SAME, "ethos-u85-256"),
    ("MAX_POOL_2D", VALID, "ethos-u85-256"),
}
EACH = list(itertools.product(KINDS, (SAME, VALID), NPUS))


@pytest.mark.parametrize(("kind", "padding", "npu"), EACH)
def test_a_scale_changes_the_result_only_where_the_npu_uses_it(kind, padding, npu):
    case = make(kind, padding, npu)
    expected = Verdict.DIFFERS if (kind, padding, npu) in OBEYED else Verdict.EXACT
    assert verdict(case, scaled(vela.compile_case(case).model)).verdict is expected


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("padding", [SAME, VALID])
@pytest.mark.parametrize("kind", KINDS)
def test_pools_of_ethos_u85_take_strides_over_3(kind, padding, dtype):
    case = make(kind, padding, "ethos-u85-256", dtype, stride=4)
    result = verdict(case, vela.compile_case(case).model)
    assert result.verdict is Verdict.EXACT, result.reason


@pytest.mark.slow
@pytest.mark.parametrize("release", TESTED)
def test_pools_of_each_release_are_exact(tmp_path, release):
    """A pool of each release is exact, and accepted with only the registers that it needs."""
    python = tmp_path / "vela/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "vela"], check=True)
    package = ["ethos-u-vela==" + release, *(["numpy<1.24"] if release < "4" else [])]
    install = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--only-binary=:all:", *package],
        capture_output=True, text=True,
    )  # fmt: skip
    if install.returncode:
        pytest.skip(f"NOT TESTED WITH Vela {release}: no wheel for this Python")
    for kind, padding, npu in EACH:
        if npu not in products(release):
            continue
        case, source = make(kind, padding, npu), tmp_path / "pool.tflite"
        source.write_bytes(case.model)
        vela_command = [python, "-m", "ethosu.vela", "--accelerator-config", npu]
        command = [*vela_command, "--output-dir", tmp_path, source]
        subprocess.run(command, check=True, capture_output=True)
        found = verdict(case, (tmp_path / "pool_vela.tflite").read_bytes())
        assert found.verdict is Verdict.EXACT, f"{kind} {padding} {npu}: {found.reason}"


def products(release: str) -> tuple[str, ...]:
    """Return the NPUs that a release supports."""
    major = int(release.partition(".")[0])
    return NPUS[: 1 + (major >= 3) + (major >= 4)]
