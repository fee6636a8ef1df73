# SPDX-License-Identifier: MIT
"""`ethosu profile --perfetto` writes valid trace events with the estimate's times."""

import gzip
import itertools
import json
import os
import shutil
import subprocess
from collections import Counter

import numpy as np
import pytest
from ethosu_tools.answers import cpu
from ethosu_tools.answers.timeline import composer, elf, perfetto, processor
from ethosu_tools.answers.timeline.processor import Event, Watched
from ethosu_tools.base import paths
from ethosu_tools.base.errors import InputError, NoEmulatorError
from ethosu_tools.boards import systems
from ethosu_tools.model import ModelFile
from ethosu_tools.sim import latency

from host_tests.kit.models import mixed_models

BOARD = "ALIF_ENSEMBLE_E7-M55_HE"
# Keys that each phase must have in the "Trace Event Format".
KEYS = {"X": {"name", "ts", "dur", "pid", "tid"}, "i": {"name", "ts", "s", "pid", "tid"}}
ABOUT = {
    "process_name": str,
    "thread_name": str,
    "process_sort_index": int,
    "thread_sort_index": int,
}


pytestmark = pytest.mark.usefixtures("emulator_only", "emulator_registers")


@pytest.fixture(scope="module")
def segmenter(tmp_path_factory, compiled):
    """Return a model with three NPU calls and two CPU operators between them."""
    source = tmp_path_factory.mktemp("segmenter") / "segmenter.tflite"
    source.write_bytes(mixed_models.MODELS["segmenter"].make())
    return compiled(source)


@pytest.fixture(scope="module")
def timeline(segmenter):
    return perfetto.make(ModelFile(segmenter), systems.find(BOARD))


def check_format(events):
    """Check the format's rules, and that every track has a name."""
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    processes = {e["pid"] for e in events if e["name"] == "process_name"}
    tracks = {}
    for event in events:
        if event["ph"] == "M":
            (value,) = event["args"].values()
            assert isinstance(value, ABOUT[event["name"]])
            continue
        assert KEYS[event["ph"]] <= set(event)
        assert event["ts"] >= 0 and event.get("dur", 0) >= 0 and event["name"]
        assert (event["pid"], event["tid"]) in named and event["pid"] in processes
        if event["ph"] == "X":
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for slices in tracks.values():
        slices.sort(key=lambda event: event["ts"])
        for one, other in itertools.pairwise(slices):
            # Times are rounded to a tenth of a nanosecond.
            assert one["ts"] + one["dur"] <= other["ts"] + 3e-4, (one, other)
    return tracks


def test_the_events_follow_the_format_and_all_tracks_are_used(timeline):
    assert set(check_format(timeline.events)) == set(perfetto.NAMES)


def test_operators_of_the_cpu_have_their_names_and_the_npu_runs_between(timeline):
    tracks = check_format(timeline.events)
    names = [event["name"] for event in tracks[perfetto.OPERATORS]]
    assert names == [
        "call of the model",
        "start of ethos-u 0",
        "RESIZE_BILINEAR upscale",
        "start of ethos-u 1",
        "TRANSPOSE_CONV transpose_conv",
        "start of ethos-u 2",
    ]
    interrupts = tracks[perfetto.INTERRUPTS]
    assert len(interrupts) == 3
    cpu = {event["name"]: event for event in tracks[perfetto.OPERATORS]}
    resize = cpu["RESIZE_BILINEAR upscale"]
    during = [
        event
        for event in tracks[perfetto.KERNELS]
        if event["ts"] < resize["ts"] + resize["dur"] and event["ts"] + event["dur"] > resize["ts"]
    ]
    assert during == [], "the NPU waits for the operator"


def test_the_time_is_that_of_the_estimate_and_of_the_counted_instructions(timeline, segmenter):
    system = systems.find(BOARD)
    estimate = latency.estimate(ModelFile(segmenter), system)
    tracks = check_format(timeline.events)
    kernels = tracks[perfetto.KERNELS] + tracks[perfetto.COPIES]
    assert sum(event["args"]["cycles"] for event in kernels) == estimate.cycles
    assert len(kernels) == len(estimate.operations)
    moved = Counter()
    for event in kernels:
        moved.update(event["args"]["bytes_read"])
    assert moved == sum((layer.read for layer in estimate.layers), Counter())
    spans = tracks[perfetto.OPERATORS] + tracks[perfetto.INTERRUPTS]
    cpu_ms = sum(event["args"]["instructions"] for event in spans) / (system.cpu_mhz * 1e3)
    # Only the instructions between the NPU's start and the CPU's sleep are in no span.
    assert timeline.milliseconds == pytest.approx(estimate.milliseconds + cpu_ms, rel=2e-3)
    assert cpu_ms > estimate.milliseconds


def test_the_cpu_waits_for_the_only_call_of_a_model(small_models, compiled):
    """The CPU waits for a model's only call, which the runtime runs without steps."""
    model = ModelFile(compiled(small_models["small_cnn"]))
    found = perfetto.make(model, systems.find(BOARD))
    tracks = check_format(found.events)
    (call,), (interrupt,) = tracks[perfetto.OPERATORS], tracks[perfetto.INTERRUPTS]
    last = max(event["ts"] + event["dur"] for event in tracks[perfetto.KERNELS])
    assert call["ts"] + call["dur"] < last == pytest.approx(interrupt["ts"], abs=1)
    assert found.milliseconds > latency.estimate(model, systems.find(BOARD)).milliseconds
    counted = call["args"]["instructions"] + interrupt["args"]["instructions"]
    assert counted == pytest.approx(cpu.instructions(model), abs=120), "starting the NPU is in none"


def test_layers_contain_their_operations(timeline):
    tracks = check_format(timeline.events)
    layers = tracks[perfetto.LAYERS]
    for event in tracks[perfetto.KERNELS]:
        owners = [
            each
            for each in layers
            if each["ts"] - 3e-4 <= event["ts"]
            and event["ts"] + event["dur"] <= each["ts"] + each["dur"] + 3e-4
            and each["name"] == event["args"]["layer"]
        ]
        assert len(owners) == 1
    assert sum(layer["args"]["operations"] for layer in layers) == len(tracks[perfetto.KERNELS])


def test_the_command_writes_the_file_plain_or_compressed(ethosu, segmenter, tmp_path):
    plain, packed = tmp_path / "t.json", tmp_path / "t.json.gz"
    code, out, _ = ethosu("profile", segmenter, "--perfetto", plain, "--board", BOARD, "--json")
    assert code == 0
    facts = json.loads(out)["perfetto"]
    assert facts["system"] == BOARD and facts["cpu_mhz"] == 160 and facts["ms"] > 1
    data = json.loads(plain.read_text())
    check_format(data["traceEvents"])
    assert data["otherData"]["npu_time"] == facts["npu_time"]
    perfetto.save(data["traceEvents"], packed, data["otherData"])
    assert json.loads(gzip.decompress(packed.read_bytes())) == data


def test_without_an_emulator_the_file_says_what_is_unknown(
    ethosu, segmenter, tmp_path, monkeypatch
):
    def absent(_model):
        raise NoEmulatorError("qemu-system-arm is not installed")

    monkeypatch.setattr(processor, "watch", absent)
    path = tmp_path / "t.json"
    code, _, err = ethosu("profile", segmenter, "--perfetto", path, "--board", BOARD)
    assert code == 0 and "times of the CPU are not known: qemu-system-arm is not" in err
    data = json.loads(path.read_text())
    check_format(data["traceEvents"])
    assert "qemu-system-arm" in data["otherData"]["cpu_time"]
    moments = [event["name"] for event in data["traceEvents"] if event["ph"] == "i"]
    assert [name.split()[0] for name in moments] == ["RESIZE_BILINEAR", "TRANSPOSE_CONV"]


def test_a_program_is_drawn_too(shared_models):
    program = shared_models.parent / "executorch/mixed_u55_128_cortexm/mixed_u55_128_cortexm.pte"
    found = perfetto.make(ModelFile(program), systems.find(BOARD))
    names = [event["name"] for event in check_format(found.events)[perfetto.OPERATORS]]
    kernels = [name.partition("::")[2] for name in names if name.startswith("cortex_m::")]
    assert kernels == ["quantize_per_tensor", "quantized_conv2d", "dequantize_per_tensor"]


def test_an_index_as_input_is_a_valid_one(compiled, tmp_path):
    """Inputs are filled with valid indices, because GATHER would stop at others."""
    source = tmp_path / "attention.tflite"
    source.write_bytes(mixed_models.MODELS["attention"].make())
    watched = processor.watch(ModelFile(compiled(source)))
    assert [event.what for event in watched.events].count(processor.KERNEL) == 1


@pytest.mark.parametrize("overlaps", [False, True])
def test_a_kernel_runs_while_the_npu_does(overlaps):
    """A kernel and the NPU overlap: here an instruction takes 1 us, the NPU's call 100 us."""
    begin = [Event(10, processor.START_ONLY), Event(14, processor.NPU_STARTS)]
    if overlaps:
        events = [
            *begin,
            Event(20, processor.KERNEL),
            Event(50, processor.WAIT),
            Event(55, processor.NPU_ENDS),
            Event(56, processor.HANDLER),
        ]
    else:  # the NPU ends during the kernel, by the emulated board's clock
        events = [
            *begin,
            Event(20, processor.KERNEL),
            Event(30, processor.NPU_ENDS),
            Event(31, processor.HANDLER),
            Event(50, processor.WAIT),
        ]
    found = composer.Composer(1.0, [100.0], iter(["CONV"]))
    found.follow(Watched(events, 60))
    assert found.starts == [14.0]
    spans = {span.name: (span.begin, span.end) for span in found.spans}
    assert spans["CONV"] == (20, 50)
    assert spans["call of the model"] == (0, 10)
    if overlaps:
        assert spans["wait for ethos-u 0"] == (50, 115), "until the NPU has ended"
        assert spans["NPU's interrupt, return to the runtime"] == (115, 119)
        assert found.now == 119
    else:
        assert found.now == 114


def test_a_stripped_image_is_one_error(tmp_path):
    path = tmp_path / "firmware.elf"
    path.write_bytes(paths.firmware("MPS3_AN547").read_bytes()[:64])
    with pytest.raises(InputError, match="has no symbol table: it was stripped, or is damaged"):
        elf.symbols(path)


def test_symbols_are_those_that_binutils_lists():
    image = paths.firmware("MPS3_AN547")
    listed = subprocess.run(["arm-none-eabi-nm", image], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    found = elf.symbols(image)
    expected = {row[2]: int(row[0], 16) for row in rows if len(row) == 3 and row[1] in "TW"}
    assert len(expected) > 1000
    assert {name: found[name] & ~1 for name in expected} == {
        name: value & ~1 for name, value in expected.items()
    }


def test_perfetto_itself_opens_the_file(timeline, tmp_path):
    """Perfetto's trace_processor_shell, which its Python package downloads, opens the file."""
    shell = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if shell is None:
        pytest.skip("NOT OPENED BY PERFETTO: set TRACE_PROCESSOR to its trace_processor_shell")
    path, query = tmp_path / "t.json", tmp_path / "q.sql"
    perfetto.save(timeline.events, path, timeline.facts)
    query.write_text("select count(*) from slice; ")
    done = subprocess.run([shell, "-q", query, path], capture_output=True, text=True, check=True)
    slices = sum(event["ph"] == "X" for event in timeline.events)
    assert str(slices) in done.stdout.split()
    assert np.isfinite(timeline.milliseconds)
