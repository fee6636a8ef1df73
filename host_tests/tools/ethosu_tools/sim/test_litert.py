# SPDX-License-Identifier: MIT
"""LiteRT 1.2.0, and 2.3.0 with some operators replaced, compute the same reference.

Most tests use the installed release. On 1.2.0, they compare a model before and after the change; on
2.3.0, with recorded results of 1.2.0, or with NumPy's. At night, 2.3.0 is installed beside 1.2.0,
and both compute the same models.
"""

import hashlib
import pickle
import re
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError, ToolError
from ethosu_tools.model import ModelFile, arrays
from ethosu_tools.model.make_model import MODELS
from ethosu_tools.model.tflite.writer import Graph, schema, write
from ethosu_tools.sim import litert
from ethosu_tools.sim.litert_rewrite import rewritten
from ethosu_tools.sim.oracle import REFERENCE, Oracle, kernels_for

from host_tests.conformance.generator import case as cases
from host_tests.conformance.generator.builder import UnsuitableError
from host_tests.conformance.generator.families import FAMILIES
from host_tests.kit import sharing
from host_tests.kit.models import mixed_models
from host_tests.modules.ethosu.runtime.kernels.maker import GENERATORS, make
from host_tests.modules.ethosu.runtime.kernels.runner import clear_rest

from . import dense_graphs

FIRST, LATER = litert.RELEASES
# SHA-256 of the results of LiteRT 1.2.0.
DENSE = "1c85c6e0145b1c15676b690267a41b62a840e7b0fc819204d17b4bc064236075"
INT32, INT64 = schema.TensorType.INT32, schema.TensorType.INT64


def changed(model):
    """Return the model for the later release, which the first one must compute equally."""
    return rewritten(model, later=True)


def outputs(model, feeds, **options):
    oracle = Oracle(model, **options)
    return [oracle.step(feed) for feed in feeds]


def as_it_is(model, feeds, kernels=REFERENCE):
    """Return the outputs of a model without further changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(litert, "rewritten", lambda model, later: model)
        interpreter = litert.Interpreter(model, kernels)
    return [interpreter.step(feed) for feed in feeds]


def both(model, feeds, kernels=REFERENCE):
    """Return the reference's outputs; on 1.2.0, check the model for the later release, too."""
    yield outputs(model, feeds, kernels=kernels)
    if litert.installed() == FIRST:
        yield as_it_is(changed(model), feeds, kernels)


def same(one, other):
    """Whether all outputs of all steps are equal."""
    rows = [[(a.dtype, a.shape, a.tobytes()) for a in row] for row in one]
    return rows == [[(a.dtype, a.shape, a.tobytes()) for a in row] for row in other]


def test_fully_connected_layers_are_the_first_releases():
    """Fully connected layers equal 1.2.0's; the last ones need a single-precision product."""
    drawn = [dense_graphs.make(seed) for seed in (*range(100), 542, 1742, 2582, 2852)]
    assert len({dense.kind for dense in drawn}) == 17
    for results in zip(*(both(each.model, each.feeds) for each in drawn), strict=True):
        arrays = (array for rows in results for row in rows for array in row)
        digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays))
        assert digest.hexdigest() == DENSE


def kinds(model):
    """Return the operators of each graph."""
    return [[each.name for each in graph.operators] for graph in ModelFile(model).graphs]


def operator(kind, inputs, output, options, **fields):
    """Make a model of one operator; inputs and output: name, shape, type and scale."""
    graph = Graph("main")
    graph.inputs = [graph.tensor(*each) for each in inputs]
    graph.outputs = [graph.tensor(*output)]
    constants = [graph.constant("constant", each) for each in fields.pop("constants", ())]
    graph.operator(kind, [*graph.inputs, *constants], graph.outputs, options, **fields)
    return write([graph], kind)


@pytest.mark.parametrize("axis", [0, 1])
def test_a_sum_of_int16_wraps_around(axis):
    x = np.random.default_rng(1).integers(-32768, 32768, (9, 40)).astype(np.int16)
    wanted = x.sum(axis, dtype=np.int16)
    ends = ("x", x.shape, "int16", 0.02), ("y", wanted.shape, "int16", 0.02)
    axes = [np.array([axis], np.int32)]
    model = operator("SUM", [ends[0]], ends[1], "ReducerOptions", constants=axes)
    for kernels in (REFERENCE, kernels_for(ModelFile(model))):
        assert all(same(found, [[wanted]]) for found in both(model, [[x]], kernels))
    assert kinds(changed(model)) == [["CAST", "SUM", "CAST"]]
    two = operator("SUM", [ends[0]], (*ends[1][:3], 0.01), "ReducerOptions", constants=axes)
    with pytest.raises(InputError, match=r"LiteRT (rejected|could not run) the model: .*scale"):
        outputs(two, [[x]])


def test_a_sum_of_int8_adds_negative_numbers():
    x = np.random.default_rng(1).integers(-12, 13, (9, 10)).astype(np.int8)
    ends = ("x", x.shape, "int8", 0.02, 1), ("y", (9,), "int8", 0.02, 3)
    axes = [np.array([1], np.int32)]
    model = operator("SUM", [ends[0]], ends[1], "ReducerOptions", constants=axes)
    wanted = [[((x.astype(int) - 1).sum(1) + 3).astype(np.int8)]]
    assert all(same(found, wanted) for found in both(model, [[x]]))
    assert not same(as_it_is(model, [[x]]), wanted)


@pytest.mark.parametrize("scales", [(0.02, 0.01), (2**-15, 2**-15), (None, None)])
@pytest.mark.parametrize("shape", [(4, 64), (1,), (64,)])
def test_int16_numbers_are_equal_without_their_scales(scales, shape):
    random = np.random.default_rng(2)
    x, y = (random.integers(-4, 5, each).astype(np.int16) for each in ((4, 64), shape))
    ends = [("x", x.shape, "int16", scales[0]), ("y", shape, "int16", scales[1])]
    model = operator("EQUAL", ends, ("z", x.shape, "bool"), "EqualOptions")
    assert all(same(found, [[x == y]]) for found in both(model, [[x, y]]))
    assert kinds(changed(model)) == [["RESHAPE", "RESHAPE", "EQUAL"]]
    model = operator("NOT_EQUAL", ends, ("z", x.shape, "bool"), "NotEqualOptions")
    if litert.installed() == FIRST:
        with pytest.raises(InputError, match="Does not support type"):
            outputs(changed(model), [[x, y]])
    else:
        assert same(outputs(model, [[x, y]]), [[x != y]])


def biased(kind, bias_type, dtype="int32"):
    """Make a layer of int16 with a bias; the options name `bias_type`."""
    random = np.random.default_rng(3)
    graph = Graph("main")
    shape, filters = ((2, 8), (4, 8)) if kind == "FULLY_CONNECTED" else ((1, 3, 3, 8), (4, 1, 1, 8))
    x = graph.tensor("x", shape, "int16", 0.001)
    y = graph.tensor("y", (*shape[:-1], 4), "int16", 0.02)
    weights = graph.constant("w", random.integers(-127, 128, filters).astype(np.int8), 0.01)
    bias = graph.constant("b", random.integers(-9_000_000, 9_000_000, 4).astype(dtype), 1e-5)
    first = [graph.constant("size", np.array([1, 3, 3, 4], np.int32)), weights, x, bias]
    graph.inputs, graph.outputs = [x], [y]
    name = {"CONV_2D": "Conv2D", "TRANSPOSE_CONV": "TransposeConv"}.get(kind, "FullyConnected")
    windows = {"padding": 1, "strideW": 1, "strideH": 1}
    windows |= {"dilationWFactor": 1, "dilationHFactor": 1} if kind == "CONV_2D" else {}
    fields = {} if kind == "FULLY_CONNECTED" else windows
    inputs = first if kind == "TRANSPOSE_CONV" else [x, weights, bias]
    graph.operator(kind, inputs, [y], f"{name}Options", quantizedBiasType=bias_type, **fields)
    graph.versions[kind] = {"FULLY_CONNECTED": 11, "CONV_2D": 8, "TRANSPOSE_CONV": 5}[kind]
    feed = [random.integers(-32768, 32768, shape).astype(np.int16)]
    return write([graph], kind), feed


@pytest.mark.parametrize("kind", ["FULLY_CONNECTED", "CONV_2D", "TRANSPOSE_CONV"])
def test_an_int32_bias_that_is_not_named_is_read_as_int32(kind):
    """An int32 bias without a named type is int32; LiteRT would read int64, past the end."""
    (model, feed), (named, _) = biased(kind, 0), biased(kind, INT32)
    wanted = outputs(named, [feed])
    assert all(same(found, wanted) for found in both(model, [feed]))
    wide, _ = biased(kind, 0, "int64")
    (values,), (others,) = wanted[0], outputs(wide, [feed])[0]
    assert 0 < np.abs(values.astype(int) - others).max() <= 1 or kind != "FULLY_CONNECTED"


def every_tensor(model, feeds, numbers):
    """Return the values of a model whose tensors are kept."""
    oracle = Oracle(model, keep=True)
    for feed in feeds:
        oracle.step(feed)
    return [array.tobytes() for array in oracle.tensors(numbers)]


@pytest.mark.parametrize("name", MODELS)
def test_numbers_of_tensors_and_states_stay(name):
    model, random = MODELS[name](), np.random.default_rng(4)
    feeds = [arrays.random_inputs(Oracle(model).inputs, random) for _ in range(5)]
    first, *others = both(model, feeds)
    assert all(same(first, other) for other in others)
    numbers = [n for n, each in enumerate(ModelFile(model).graph.tensors) if each.size]
    values = every_tensor(model, feeds, numbers)
    assert values[numbers.index(ModelFile(model).graph.outputs[0])] == first[-1][0].tobytes()
    if litert.installed() == FIRST:
        assert every_tensor(changed(model), feeds, numbers) == values


def branches():
    """Make IF with two layers in each branch."""
    main, then, other = (Graph(name) for name in ("main", "then", "other"))
    for graph, factor in ((then, 3), (other, -5)):
        x = graph.tensor("x", (2, 4), "int8", 0.5)
        middle = graph.tensor("middle", (2, 4), "int8", 0.5)
        graph.inputs, graph.outputs = [x], [graph.tensor("y", (2, 3), "int8", 0.7)]
        identity = graph.constant("identity", np.eye(4, dtype=np.int8), 1.0)
        w = graph.constant("w", np.full((3, 4), factor, np.int8), 0.25)
        for ends in ([x, identity, middle], [middle, w, graph.outputs[0]]):
            inputs = [*ends[:2], -1]
            graph.operator("FULLY_CONNECTED", inputs, ends[2:], "FullyConnectedOptions")
    main.inputs = [main.tensor("if", (), "bool"), main.tensor("x", (2, 4), "int8", 0.5)]
    main.outputs = [main.tensor("y", (2, 3), "int8", 0.7)]
    fields = {"thenSubgraphIndex": 1, "elseSubgraphIndex": 2}
    main.operator("IF", main.inputs, main.outputs, "IfOptions", **fields)
    return write([main, then, other], "branches")


def test_layers_in_branches_are_changed():
    model = branches()
    assert kinds(changed(model)) == [["IF"], *([["RESHAPE", "CONV_2D", "RESHAPE"] * 2] * 2)]
    x = np.arange(-4, 4, dtype=np.int8).reshape(2, 4)
    for found in both(model, [[np.array(truth), x] for truth in (True, False)]):
        for (y,), factor in zip(found, (3, -5), strict=True):
            sums = x.sum(1, keepdims=True, dtype=int) * factor * 0.5 * 0.25 / 0.7
            assert np.array_equal(y, np.rint(sums).repeat(3, 1))


def floats(weights, scale=None):
    graph = Graph("main")
    x = graph.tensor("x", (2, 4), "float32")
    w = graph.constant("w", weights, scale)
    graph.inputs, graph.outputs = [x], [graph.tensor("y", (2, 3), "float32")]
    graph.operator("FULLY_CONNECTED", [x, w, -1], graph.outputs, "FullyConnectedOptions")
    return write([graph], "floats")


def test_layers_of_floats_are_left():
    for model in (floats(np.ones((3, 4), np.float32)), floats(np.ones((3, 4), np.int8), 0.5)):
        assert changed(model) is model
        assert outputs(model, [[np.ones((2, 4), np.float32)]])[0][0].shape == (2, 3)


def test_what_has_no_convolution_is_refused():
    graph = Graph("main")
    x = graph.tensor("x", (2, 4), "uint8", 0.5)
    w = graph.constant("w", np.ones((3, 4), np.uint8), 0.5)
    graph.inputs, graph.outputs = [x], [graph.tensor("y", (2, 3), "int16", 0.5)]
    graph.operator("FULLY_CONNECTED", [x, w, -1], graph.outputs, "FullyConnectedOptions")
    with pytest.raises(ValueError, match=r"FULLY_CONNECTED to y \(uint8 by uint8 to int16\)"):
        changed(write([graph], "mixed"))


# ---- At night ----


class Later(litert._Child):
    """The helper process in another Python, which has the later release."""

    python: Path


_AS_IT_IS = """
import pickle, sys
from pathlib import Path
from ethosu_tools.sim import litert
litert.rewritten = lambda model, later: model
drawn = pickle.loads(Path(sys.argv[1]).read_bytes())
results = []
for model, feeds in drawn:
    interpreter = litert.Interpreter(model, "BUILTIN_REF")
    results.append([interpreter.step(feed) for feed in feeds])
Path(sys.argv[2]).write_bytes(pickle.dumps(results))
"""


@pytest.fixture(scope="module")
def later(tmp_path_factory):
    """Return the later release of LiteRT."""
    if litert.installed() != FIRST:
        pytest.fail(f"this test compares {LATER} with {FIRST}, which this Python does not have")
    folder = tmp_path_factory.mktemp("later")
    # The lock has this release for Python 3.13, with hashes of all wheels.
    (hashes,) = re.findall(
        rf"^ai-edge-litert=={LATER} ; .*\\\n((?: +--hash=.*\n)+)",
        (sharing.REPO / "requirements.lock").read_text(),
        re.MULTILINE,
    )
    lock = folder / "lock"
    lock.write_text(f"ai-edge-litert=={LATER} \\\n{hashes}")
    words = ["--no-deps", "--require-hashes", "-r", str(lock)]
    python = sharing.python_with(folder / "venv", *words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", str(python))
        child = Later()
    child.python = python
    release = "from ethosu_tools.sim import litert; print(litert.installed())"
    done = subprocess.run([python, "-c", release], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == LATER
    return child


def by(child, model, feeds, kernels=REFERENCE):
    number, _ = child.call("load", model, kernels)
    rows = [child.call("step", number, list(feed)) for feed in feeds]
    child.dropped.append(number)
    return rows


def compare(later, drawn):
    """Count models that both compute, and that differ; the first must run most models."""
    tally, wrong = Counter(), []
    for name, model, feeds, kernels, *ends in drawn:
        try:
            wanted = outputs(model, feeds, kernels=kernels)
        except ToolError:
            tally["refused"] += 1
            continue
        tally["computed"] += 1
        results = wanted, by(later, model, feeds, kernels)
        if not same(*([each(row) for row in rows] for each in ends or [list] for rows in results)):
            wrong.append(name)
    assert wrong == []
    return tally


@pytest.mark.slow
def test_random_layers_are_equal(later):
    drawn = map(dense_graphs.make, range(1000, 4000))
    tally = compare(later, ((d.name, d.model, d.feeds, REFERENCE) for d in drawn))
    assert tally == {"computed": 3000}


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_generated_graphs_are_equal(later, family):
    def drawn():
        for seed in range(50_000, 51_000):
            try:
                case = cases.make(seed, family=FAMILIES[family])
            except UnsuitableError:
                continue
            yield f"{family} {seed}", case.model, case.feeds, kernels_for(ModelFile(case.model))

    assert compare(later, drawn())["computed"] > 300


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_cases_of_cpu_kernels_are_equal(later, name):
    def drawn():
        for seed in range(60):
            case = make(name, seed)
            # Entries after the last detection are not specified.
            ends = partial(clear_rest, group=case.group) if case.group else list
            yield f"{name} {seed}", case.model, case.inputs, REFERENCE, ends

    assert compare(later, drawn())["computed"] > 20


@pytest.mark.slow
def test_models_are_equal(later, shared_models):
    made = {**MODELS, **{name: each.make for name, each in mixed_models.MODELS.items()}}
    files = {name: make() for name, make in made.items()}
    files |= {path.name: path.read_bytes() for path in sorted(shared_models.rglob("*.tflite"))}

    def drawn():
        for name, model in files.items():
            try:
                ends = Oracle(model).inputs
            except InputError:
                continue
            if any(np.dtype(end.dtype).kind not in "biuf" for end in ends):
                continue  # text
            random = np.random.default_rng(5)
            feeds = [arrays.random_inputs(ends, random) for _ in range(4)]
            yield name, model, feeds, REFERENCE

    assert compare(later, drawn())["computed"] > 15


@pytest.mark.slow
def test_without_the_change_layers_would_differ(later, tmp_path):
    """Without the change, layers differ, which shows that the comparisons can fail."""
    drawn = [dense_graphs.make(seed) for seed in range(100)]
    given = tmp_path / "drawn"
    given.write_bytes(pickle.dumps([(each.model, each.feeds) for each in drawn]))
    done = subprocess.run(
        [later.python, "-c", _AS_IT_IS, given, given], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = pickle.loads(given.read_bytes())
    equal = [
        same(rows, outputs(each.model, each.feeds)) for rows, each in zip(found, drawn, strict=True)
    ]
    assert 5 < equal.count(False) < 50
