# SPDX-License-Identifier: MIT
"""Start corpus of the campaigns: generated graphs, compiled by Vela for every kind of NPU.

A corpus is a folder: `models/` (the compiled files), `kernels/` (a few with one operator, for each
kernel), `payloads/` (the driver's input from the models), `streams/` (command streams, regions and
constants, for c/streams.c), `sources/` (models before Vela, followed by labels), `tables/` (Vela's
debug databases), `inputs/` and `weights/` (inputs of the targets of tools/npu_sim/fuzz),
`about.json` (the number for each NPU and memory mode).

python -m host_tests.conformance.campaigns.corpus prints the path of the long one.
"""

from __future__ import annotations

import hashlib
import io
import json
import struct
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ethosu_tools.boards.targets import TARGETS
from ethosu_tools.compile.plan import plan_file
from ethosu_tools.compile.vela import compile_model, run_vela, vela_options
from ethosu_tools.model.make_model import MODELS
from ethosu_tools.model.tflite import model_metadata

from host_tests.conformance.generator import case as cases
from host_tests.conformance.generator import coverage, vela
from host_tests.conformance.generator.builder import UnsuitableError
from host_tests.conformance.generator.families import FAMILIES
from host_tests.kit import sharing
from host_tests.kit.models.mixed_models import MixedNet
from host_tests.kit.process import isolated
from host_tests.modules.ethosu.driver.streams import Call, npu_calls
from host_tests.modules.ethosu.runtime.kernels import cases as _fill_generators  # noqa: F401
from host_tests.modules.ethosu.runtime.kernels import cases_weighted as _fill_them_too  # noqa: F401
from host_tests.modules.ethosu.runtime.kernels import plan_writer
from host_tests.modules.ethosu.runtime.kernels.maker import GENERATORS, make
from host_tests.tools.npu_sim import hardware

REGIONS = 8
# C sources that determine the contents of a corpus: NPUs and kernels.
_TABLES = ("tools/npu_sim/device/products.def", "modules/ethosu/runtime/kernels/kernels.def")
# A short corpus has more graphs per family than operators, so each operator begins one.
GRAPHS_SHORT, GRAPHS_LONG = 180, 600
# Memory of fuzz_stream.c, distance of its regions, and the longest stream that can still grow.
_MEMORY = 1 << 13
_REGION = _MEMORY // 16
_LONGEST = 3000


def corpus(graphs: int) -> Path:
    """Return the corpus of this many generated graphs, which is made once."""
    sharing.make("tools/npu_sim", "shared")
    tests = sharing.REPO / "host_tests"
    sources = [*sorted((tests / "conformance/generator").rglob("*.py")), Path(__file__)]
    sources += sorted((tests / "modules/ethosu/runtime/kernels").glob("*.py"))
    sources += [sharing.REPO / table for table in _TABLES]
    return sharing.cached(
        "corpus",
        (sharing.tool_sources(), *sources, graphs),
        lambda folder: _make(folder, graphs),
    )


def _make(folder: Path, graphs: int) -> None:
    kinds = ("models", "kernels", "payloads", "streams", "sources", "tables", "inputs", "weights")
    for kind in kinds:
        (folder / kind).mkdir(parents=True)
    families = list(FAMILIES.values())
    about: dict[str, Counter[str]] = {"npus": Counter(), "memory modes": Counter()}
    for number in range(graphs):
        try:
            case = cases.make(number // len(families), family=families[number % len(families)])
            model = vela.compile_case(case).model
        except (UnsuitableError, vela.RefusedError, isolated.DiedError):
            continue
        calls = npu_calls(model)
        origins = enumerate(calls, about["npus"].total())
        pieces = [piece for origin in origins for piece in _fuzz_inputs(case.npu, *origin)]
        if calls:
            for kind, data in (("models", model), ("payloads", calls[0].payload), *pieces):
                (folder / kind / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
            about["npus"][case.npu] += len(calls)
            about["memory modes"][case.options[case.options.index("--memory-mode") + 1]] += 1
    _add_planned(folder / "models")
    for name, maker in MODELS.items():
        _add_source(folder, name, maker())
    for name in GENERATORS:
        for seed in range(3):
            model = plan_writer.add_plan(make(name, seed).model)
            (folder / "kernels" / f"{name}{seed}").write_bytes(model)
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


def _add_planned(folder: Path) -> None:
    """Add models with plans and debug tables."""
    net = MixedNet("state", 1)
    x = net.svdf(net.input((1, 8)), 4, memory=3)
    sources = {name: maker() for name, maker in MODELS.items()} | {
        "state": net.finish(net.dense(x, 4, gain=1.0))
    }
    for name, model in sources.items():
        source, compiled = folder / f"{name}.source", folder / f"{name}.compiled"
        source.write_bytes(model)
        compile_model(source, "ethos-u55-128", compiled)
        plan_file(compiled, folder / name)
        source.unlink()
        compiled.unlink()


def _add_source(folder: Path, name: str, model: bytes) -> None:
    """Add a model with labels, stored and deflated, and Vela's debug database."""
    labels = [f"label {index}" for index in range(50)]
    metadata = model_metadata.ModelMetadata(labels, (127.5,), (60, 61, 62.5))
    data = model_metadata.write(model, metadata, 1, 1)
    packed = io.BytesIO(data)
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("words.txt", "\n".join(metadata.labels) * 20)
    (folder / "sources" / name).write_bytes(data)
    (folder / "sources" / f"{name}.deflated").write_bytes(packed.getvalue())
    npu = "ethos-u55-128"
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "model.tflite"
        source.write_bytes(model)
        run_vela(source, [*vela_options(npu, TARGETS[npu]), "--output-dir", work])
        (folder / "tables" / name).write_bytes((Path(work) / "model_debug.xml").read_bytes())


def _fuzz_inputs(npu: str, origin: int, call: Call) -> Iterator[tuple[str, bytes]]:
    """Write inputs of the fuzz targets: stream with regions or constants, and weight streams."""
    stream, constants = call.stream, call.constants
    place = hardware.configs().index(npu)
    sizes = [*call.sizes, *([0] * REGIONS)][:REGIONS]
    words = origin, place, len(call.sizes), *sizes, len(stream) // 4
    head = struct.pack(f"<{len(words)}I", *words)
    yield "streams", head + stream + constants
    if len(stream) <= _LONGEST:
        memory = constants[:_REGION].ljust(_REGION, b"\0") + constants[_REGION:_MEMORY]
        header = struct.pack("<BH", place, len(stream))
        yield "inputs", header + stream + memory[:_MEMORY]
    base = region = 0
    for name, param, payload in coverage.commands(stream):
        if name == "WEIGHT_REGION":
            region = param
        elif name == "WEIGHT_BASE":
            base = payload
        elif name == "WEIGHT_LENGTH" and region == 0 and 0 < payload <= 4096:
            yield "weights", constants[base : base + payload]


if __name__ == "__main__":
    print(corpus(GRAPHS_LONG))
