# SPDX-License-Identifier: MIT
"""A sample of each family's graphs covers every operator and mode of the NPU, exactly."""

from collections import Counter
from dataclasses import dataclass, replace

import pytest
from ethosu_tools.compile.known import BOUNDS

from . import case as cases
from . import coverage, coverage_u85, vela
from .builder import UnsuitableError
from .check import Verdict, check
from .families import FAMILIES, U55_U65, U55_U65_UNSIGNED, U85


@dataclass(frozen=True)
class Sample:
    """Seeds of a family, and required contents of their graphs."""

    family: object
    seeds: tuple[int, ...]  # the fewest with everything that the tests below require
    nightly: range
    exact: float  # minimum share of the seeds; the others make no graph or stay on the CPU
    required: list[str]
    not_emitted: dict[str, str]
    without_kernel: frozenset = frozenset()  # operators that LiteRT lacks for this type


UINT8 = [
    *(f"{name} {end} uint8 NHWC" for name in ("CONV", "DEPTHWISE") for end in ("ifm", "ofm")),
    *(f"POOL {mode} ifm uint8 NHWC" for mode in ("MAX", "AVERAGE", "REDUCE_SUM")),
    *(f"ELEMENTWISE {mode} ifm uint8 NHWC" for mode in ("ADD", "SUB", "MUL", "MIN", "MAX")),
    *("CONV ifm uint8 NHCWB16", "POOL AVERAGE ofm uint8 NHCWB16"),
]
NOT_UINT8 = {
    *("ABS", "BATCH_MATMUL", "ELU", "EXP", "LOG", "RSQRT", "SQUARED_DIFFERENCE"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
}
U55_WAYS = coverage.REQUIRED, coverage.NOT_EMITTED
U85_WAYS = coverage_u85.REQUIRED, coverage_u85.NOT_EMITTED
# fmt: off
U55_SEEDS = (
    0, 3, 4, 5, 8, 13, 14, 31, 37, 53, 56, 81, 96, 102, 107, 127, 145, 148, 182, 205, 238, 268,
    269, 281, 282, 288, 309, 1081,
)
U85_SEEDS = (
    0, 3, 4, 11, 13, 15, 56, 61, 64, 67, 69, 97, 137, 181, 236, 246, 371, 413, 417, 422, 448,
    449, 491, 574, 590, 1933, 3561,
)
UNSIGNED_SEEDS = (
    3, 8, 10, 12, 33, 35, 40, 63, 78, 81, 92, 93, 98, 103, 107, 108, 123, 135, 180, 183, 192,
    220, 280, 330, 369, 480, 518, 526,
)
# fmt: on
SAMPLES = [
    Sample(U55_U65, U55_SEEDS, range(10_000, 12_200), 0.75, *U55_WAYS),
    Sample(U85, U85_SEEDS, range(10_000, 11_250), 0.75, *U85_WAYS),
    # Half of the nightly seeds make no graph without 16-bit numbers.
    Sample(
        U55_U65_UNSIGNED,
        UNSIGNED_SEEDS,
        range(20_000, 24_000),
        0.6,
        UINT8,
        {},
        frozenset(NOT_UINT8),
    ),
]


def run(seeds, family):
    """Run the cases with a graph; returns them with their results."""
    rows = []
    for seed in seeds:
        try:
            case = cases.make(seed, family=family)
        except UnsuitableError:
            continue
        rows.append((case, check(case)))
    return rows


def failures(rows):
    return [
        f"seed {case.seed}: {case}: {result.verdict.value}: {result.reason}"
        for case, result in rows
        if result.verdict.failed
    ]


def operators(rows, verdict):
    return {name for case, result in rows if result.verdict is verdict for name in case.operators}


each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.family.name)


def test_one_seed_of_the_command_line(request):
    seed = request.config.getoption("--seed") or 0
    family = FAMILIES[request.config.getoption("--family") or U55_U65.name]
    assert failures(run([seed], family)) == []


def test_a_stream_that_the_verifier_refuses_is_a_failure(monkeypatch):
    compile_case = vela.compile_case

    def with_another_region(case):
        compiled = compile_case(case)
        words = compiled.model.replace(b"\x0f\x01\x01\x00", b"\x0f\x01\x07\x00")
        assert words != compiled.model  # NPU_SET_IFM_REGION 1
        return replace(compiled, model=words)

    monkeypatch.setattr(vela, "compile_case", with_another_region)
    ((_, result),) = run([0], U55_U65)
    assert result.verdict.failed
    assert "region 7" in result.reason


@each_sample
def test_sample_is_exact_and_contains_what_is_required(sample):
    """The sample is exact and complete; one test, or each worker would compute the rows."""
    family, rows = sample.family, run(sample.seeds, sample.family)
    assert failures(rows) == []
    exact = sum(result.verdict is Verdict.EXACT for _, result in rows)
    assert exact > sample.exact * len(sample.seeds)

    bounded = operators(rows, Verdict.BOUNDED) & BOUNDS.keys()
    seen = operators(rows, Verdict.EXACT) | bounded | family.never_on_npu.keys()
    assert family.generators.keys() - seen == sample.without_kernel
    check_those_without_npu(sample, rows)

    modes = {case.options[case.options.index("--memory-mode") + 1] for case, _ in rows}
    assert modes == set(family.systems)
    assert {case.npu for case, _ in rows} == set(family.npus)

    features = sum((result.features for _, result in rows), Counter())
    assert [feature for feature in sample.required if not features[feature]] == []
    never = tuple(f"{way} " for way in sample.not_emitted)
    assert [name for name in features if f"{name} ".startswith(never)] == []


def check_those_without_npu(sample, rows):
    """Check that operators listed as on the CPU, or without a kernel, still are."""
    for case, result in rows:
        (name, *others) = case.operators
        if not others and name in sample.family.never_on_npu:
            assert result.verdict is Verdict.CPU
            assert sample.family.never_on_npu[name] in result.reason
        if not others and name in sample.without_kernel:
            assert result.verdict is Verdict.NO_REFERENCE, case


@pytest.mark.slow
@each_sample
def test_thousands_of_graphs(sample):
    found = run(sample.nightly, sample.family)
    assert failures(found) == []
    assert len(found) > 0.45 * len(sample.nightly)
