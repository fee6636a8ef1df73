# SPDX-License-Identifier: MIT
"""Random graphs with some operators left to the CPU by Vela are exact."""

import random
from collections import Counter
from dataclasses import replace
from itertools import chain

import pytest
from ethosu_tools.base.errors import InputError, ToolError
from ethosu_tools.compile.known import BOUNDS
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.model.tflite import parse
from ethosu_tools.sim.oracle import OPTIMISED, Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.generator import case as cases
from host_tests.generator import vela
from host_tests.generator.builder import UnsuitableError

from . import c_runtime

SEEDS = range(60)
MANY_SEEDS = range(2_000, 3_500)

# The runtime's message for an unsupported operator, which says nothing about the plan.
NO_KERNEL = ("no kernel for it", "outside its type's range", "does not support these types")


def mixed_case(seed):
    """Generate a case with about half of its operator types kept off the NPU."""
    try:
        case = cases.make(seed)
    except UnsuitableError:
        return None
    kept = sorted(set(case.operators) & set(c_runtime.operators()))
    if not kept or set(case.operators) & {*OPTIMISED, *BOUNDS}:
        return None
    dice = random.Random(seed)
    chosen = [name for name in kept if dice.random() < 0.5] or [dice.choice(kept)]
    options = [word for word in case.options if word not in ("--cop-format", "COP2")]
    return replace(case, options=(*options, "--ignore-ops", ",".join(chosen)))


def reshaped(case, graph):
    """Whether Vela changed the shape of a CPU operator's input.

    Vela gives the tensor before EXPAND_DIMS or SQUEEZE the shape after it, for all readers.
    """
    source = parse(case.model)[0]
    was, now = (
        {(op.name, tuple(g.tensors[i].shape for i in op.inputs if i >= 0)) for op in g.operators}
        for g in (source, graph)
    )
    changes = {"EXPAND_DIMS", "SQUEEZE"} & set(case.operators)
    return bool(changes) and any(name in c_runtime.operators() for name, _ in now - was)


def run(case, path):
    """Run a case; returns one word, which ends in "!" for a failure."""
    try:
        path.write_bytes(vela.compile_case(case).model)
    except vela.RefusedError:
        return "not compiled"
    try:
        plan = plan_file(path, path)
    except InputError as error:
        if reshaped(case, parse(path.read_bytes())[0]):
            return "shapes changed by Vela"
        return "no kernel" if any(text in str(error) for text in NO_KERNEL) else f"{error}!"
    if plan.before is not None and plan.arena > plan.before:
        return "larger!"
    if not any(operator.on_npu for operator in plan.graph.operators):
        return "nothing on the NPU"
    try:
        oracle = Oracle(case.model)
        expected = [oracle.step(feed) for feed in case.feeds]
    except ToolError:
        return "no reference"
    try:
        with Simulation(path) as simulation:
            found = [simulation.step(feed) for feed in case.feeds]
    except ToolError as error:
        return f"{error}!"
    pairs = zip(chain(*found), chain(*expected), strict=True)
    if not all(ours.tobytes() == theirs.tobytes() for ours, theirs in pairs):
        return "differs!"
    return "exact, moved" if plan.moved else "exact"


def check(seeds, folder):
    words = Counter()
    failed = []
    for seed in seeds:
        case = mixed_case(seed)
        if case is not None:
            word = run(case, folder / f"{seed}.tflite")
            words[word] += 1
            failed += [f"seed {seed}: {case}: {word}"] if word.endswith("!") else []
    assert failed == [], words
    return words


def test_sample_is_exact(tmp_path):
    words = check(SEEDS, tmp_path)
    assert words["exact"] + words["exact, moved"] >= 10, words


@pytest.mark.slow
def test_many_are_exact(tmp_path):
    words = check(MANY_SEEDS, tmp_path)
    assert words["exact, moved"] >= 20, words
