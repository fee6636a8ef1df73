# SPDX-License-Identifier: MIT
"""The rules tell what each other runtime takes and refuses, and why."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pymicro_wakeword
import pytest
from ethosu_tools.answers import messages, rules, runtimes, traits
from ethosu_tools.answers.rules import ACCEPTS, NEEDS, REFUSES
from ethosu_tools.answers.runtimes import RUNTIMES
from ethosu_tools.model import ModelFile, Tensor

from . import foreign

SSCMA = "SSCMA (SenseCraft) on Grove Vision AI V2"
OPENMV = "OpenMV on the AE3"
RUNNER = "ExecuTorch's arm_executor_runner, Shared_Sram (Corstone-300)"


def tensor(*shape, dtype="int8"):
    return Tensor("t", shape, dtype, 0.1, 0)


# This classifier of Himax's SDK, tflm_mb_cls, loads in SSCMA's arena.
FITS = traits.Subject(
    name="model",
    kind="a TensorFlow Lite model",
    program=False,
    compiled=True,
    npu="ethos-u55-64",
    vela="4.5.0",
    inputs=(tensor(1, 224, 224, 3),),
    outputs=(tensor(1, 10),),
    cpu=(),
    scratch=385_280,
    arena=385_280,
    planned=0,
)


def wake_words():
    """Return the models of the package pymicro-wakeword, each with a manifest."""
    return Path(pymicro_wakeword.__file__).parent.glob("models/*.tflite")


def verdict(name, **changes):
    (found,) = [
        each for each in runtimes.verdicts(replace(FITS, **changes)) if each["runtime"] == name
    ]
    return found


def broken_rules(name, **changes):
    return [reason["rule"] for reason in verdict(name, **changes)["reasons"]]


def test_each_limit_has_a_rule_a_source_and_a_page(repo):
    page = (repo / "docs/errors.md").read_text()
    for runtime in RUNTIMES:
        for name, limit in runtime.limits.items():
            assert name in dict(rules.RULES)
            assert len(limit.source) > 10
            assert not limit.message or f"\n## {limit.message}\n" in page
    used = {name for runtime in RUNTIMES for name in runtime.limits}
    assert used == set(dict(rules.RULES))


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, []),
        ({"arena": 1_126_400}, []),
        ({"arena": 1_126_401}, ["arena"]),
        ({"npu": "ethos-u55-128"}, ["npus"]),
        ({"cpu": ("TRANSPOSE", "GATHER")}, []),
        ({"cpu": ("TRANSPOSE", "PAD")}, ["operators"]),
        ({"outputs": (tensor(1, 4, 756), tensor(1, 756, 80))}, ["outputs"]),
        ({"npu": None, "compiled": False, "scratch": 0, "cpu": ("CONV_2D",)}, ["operators"]),
    ],
)
def test_sscma(changes, broken):
    assert broken_rules(SSCMA, **changes) == broken
    assert verdict(SSCMA, **changes)["verdict"] == (REFUSES if broken else ACCEPTS)


def test_a_model_that_was_not_compiled_is_told_so():
    reason = verdict(SSCMA, npu=None, compiled=False, cpu=("CONV_2D",))["reasons"][0]
    assert reason["text"].startswith("the file was not compiled for the NPU, and ")
    assert reason["message"] == messages.NO_BUILTIN


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"npu": "ethos-u55-256"}, []),
        ({"npu": "ethos-u55-64"}, ["npus"]),
        ({"npu": None, "cpu": ("CONV_2D", "SignalRfft")}, []),
        ({"npu": None, "cpu": ("REVERSE_V2",)}, ["operators"]),
        ({"npu": None, "cpu": ("MadeUp",)}, ["operators"]),
        ({"npu": None, "inputs": (tensor(1, 4, dtype="int32"),)}, ["types"]),
        ({"npu": "ethos-u55-256", "arena": 4 << 20}, []),
        ({"npu": "ethos-u55-256", "arena": (4 << 20) + 1}, ["arena"]),
        ({"npu": "ethos-u55-128", "arena": (2 << 20) + 1}, ["arena"]),
        ({"npu": None, "scratch": 0, "arena": 4 << 20}, []),
        ({"npu": None, "scratch": 0, "arena": (4 << 20) + 1}, ["arena"]),
    ],
)
def test_openmv(changes, broken):
    assert broken_rules(OPENMV, **changes) == broken


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({}, []),
        ({"scratch": 0x200000}, []),
        ({"scratch": 0x200001}, ["pool"]),
        ({"planned": 60 << 20}, []),
        ({"planned": (60 << 20) + 1}, ["method_pool"]),
        ({"npu": "ethos-u85-256"}, ["npus"]),
    ],
)
def test_executorch_runner(changes, broken):
    assert broken_rules(RUNNER, program=True, **changes) == broken


def test_the_pc_has_neither_the_npu_nor_operators_of_tflite_micro():
    assert broken_rules("TFLite or LiteRT on a PC") == ["commands"]
    changes = {"npu": None, "cpu": ("SignalRfft", "CONV_2D")}
    (reason,) = verdict("TFLite or LiteRT on a PC", **changes)["reasons"]
    assert "unresolved custom op: SignalRfft" in reason["text"]
    assert "CONV_2D" not in reason["text"] and "ethos-u" not in reason["message"]
    assert broken_rules("TFLite or LiteRT on a PC", npu=None, rejected="no") == ["rejected"]


def test_what_your_own_firmware_needs():
    found = verdict("TFLite Micro in your own firmware", cpu=("PAD",))
    assert found["verdict"] == NEEDS
    (reason,) = found["reasons"]
    assert "an ethos-u55-64" in reason["text"] and "385,280 bytes" in reason["text"]
    assert reason["text"].endswith("in the resolver: ethos-u, PAD")
    assert verdict("TFLite Micro in your own firmware", cpu=("EinSum",))["verdict"] == REFUSES


IMAGE = [(1, 192, 192, 3)]
# 24, 12 and 6 cells in a row give 576, 144 and 36 cells.
PER_STRIDE = [(1, cells, values) for values in (4, 80) for cells in (576, 144, 36)]
SEGMENTS = [(1, 116, 756), (1, 32, 48, 48)]


SHAPES = [
    (IMAGE, [(1, 10)], True),
    (IMAGE, [(1, 1)], False),
    (IMAGE, [(1, 24, 24, 3)], True),
    (IMAGE, PER_STRIDE, True),
    (IMAGE, [(*shape[:1], 24, 24, shape[2]) for shape in PER_STRIDE], False),
    (IMAGE, PER_STRIDE[:5], False),
    (IMAGE, [*PER_STRIDE[:5], (1, 37, 80)], False),
    (
        [(1, 256, 256, 3)],
        [
            *((1, cells, values) for values in (64, 1) for cells in (256, 1024, 64)),
            (1, 1344, 51),
        ],
        True,
    ),
    (IMAGE, [(1, values, side, side) for side in (24, 12, 6) for values in (64, 80)], True),
    (IMAGE, [(1, values, side, side) for values in (64, 80) for side in (24, 12, 6)], True),
    (IMAGE, [(1, side, side, values) for side in (24, 12, 6) for values in (64, 80)], False),
    (IMAGE, [(1, 12, 12, 4), (1, 12, 12, 1)], True),
    (IMAGE, [(1, 12, 12, 4), (1, 6, 6, 1)], False),
    (IMAGE, SEGMENTS, True),
    ([(1, 98, 40)], [(1, 12)], False),
    ([(1, 190, 190, 3)], [(1, 10)], False),
    ([(1, 3, 192, 192)], [(1, 10)], True),
    ([(1, 192, 192, 4)], [(1, 10)], False),
    (IMAGE * 2, [(1, 10)], False),
]


@pytest.mark.parametrize(("inputs", "outputs", "known"), SHAPES)
def test_outputs_that_sscma_can_post_process(inputs, outputs, known):
    assert bool(rules.sscma_kind(inputs, outputs)) == known


# MicroPython only needs the facts of these.
FACTS = (
    "npu",
    "cpu",
    "scratch",
    "state",
    "arena",
    "planned",
    "rejected",
    "dtypes",
    "input_shapes",
    "output_shapes",
)
SUBJECT = """
class Subject:
    def __init__(self, facts):
        for name, value in facts.items():
            setattr(self, name, value)
"""


def test_micropython_gives_the_same_verdicts(board):
    """The rules give the same verdicts in MicroPython, which runs them in the web page."""
    changes = [
        *(
            {
                "inputs": tuple(tensor(*shape) for shape in inputs),
                "outputs": tuple(tensor(*shape) for shape in outputs),
            }
            for inputs, outputs, _ in SHAPES
        ),
        {"npu": None, "cpu": ("CONV_2D", "SignalRfft", "MadeUp"), "scratch": 0},
        {"npu": "ethos-u85-256", "scratch": 70_000_000, "planned": 70_000_000, "rejected": "no"},
        {"npu": None, "cpu": ("READ_VARIABLE",), "state": 3024},
        {"inputs": (tensor(1, 4, dtype="int32"), tensor(1, dtype="bool")), "cpu": ("PAD",)},
    ]
    subjects = [replace(FITS, **each) for each in changes]
    known = [asdict(runtime) for runtime in RUNTIMES]
    facts = [{name: getattr(each, name) for name in FACTS} for each in subjects]
    board.exec(Path(rules.__file__).read_text() + SUBJECT)
    found = board.ask(
        f"runtimes = {known!r}\n"
        f"subjects = [Subject(facts) for facts in {facts!r}]\n"
        "verdicts = [verdict(each, runtime) for each in subjects for runtime in runtimes]\n"
        "_answer = [[sentence(each), each['reasons']] for each in verdicts]"
    )
    verdicts = [rules.verdict(each, runtime) for each in subjects for runtime in known]
    assert found == [[rules.sentence(each), each["reasons"]] for each in verdicts]
    assert len({reason["text"] for each in verdicts for reason in each["reasons"]}) > 20


def test_facts_of_a_file(compiled, small_models):
    before = traits.of(ModelFile(small_models["small_cnn"]))
    after = traits.of(ModelFile(compiled(small_models["small_cnn"])))
    assert (before.npu, before.scratch, before.compiled) == (None, 0, False)
    assert "CONV_2D" in before.cpu and before.what.endswith("not compiled for an NPU")
    assert after.npu == "ethos-u55-128" and after.scratch > 0 and after.cpu == ()
    assert "by Vela 5.2.0, a release whose results equal TFLite's" in after.what
    assert before.input_shapes == after.input_shapes
    # ADD has three images of 8x8x16; in a compiled model, the scratch counts.
    assert before.arena == 3 * 8 * 8 * 16 and after.arena == after.scratch


@pytest.mark.parametrize(
    "name",
    [
        *("kws_ref_model", "vww_96_int8", "ad01_int8", "pretrainedResnet_quant"),
        *("hello_world_int8", "trained_lstm_int8"),
    ],
)
def test_the_least_arena_of_a_model_as_trained(shared_models, name):
    """The least arena is below what TFLite Micro itself, in its wheel, reports."""
    path = shared_models / f"{name}.tflite"
    (file,) = (each for each in foreign.every() if each.name == path.name)
    used = re.search(r"wheel.* arena ([\d,]+) bytes", file.seen)
    assert 0 < traits.of(ModelFile(path)).arena < int(used[1].replace(",", ""))


@pytest.mark.parametrize("path", sorted(wake_words()), ids=lambda path: path.stem)
def test_the_arena_of_a_wake_word_is_near_that_of_its_manifest(path):
    """The arena is near the manifest's, of which tensors are a tenth, and tables the rest."""
    size = json.loads(path.with_suffix(".json").read_text())["micro"]["tensor_arena_size"]
    found = traits.of(ModelFile(path))
    assert 0 < found.state < found.arena < size
    (said,) = [
        each["reasons"][-1]["text"]
        for each in runtimes.verdicts(found)
        if each["reasons"] and each["reasons"][-1]["rule"] == "build"
    ][:1]
    low, high = (1000 * int(number) for number in re.findall(r"(\d+) to (\d+) KB", said)[0])
    assert found.arena + low <= size <= found.arena + high
    assert f"{found.state:,} bytes of state" in said
