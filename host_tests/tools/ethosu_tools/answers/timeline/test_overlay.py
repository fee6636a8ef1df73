# SPDX-License-Identifier: MIT
"""`ethosu profile --overlay` and `ethosu compile --debug-db`: what ExecuTorch's script reads.

Vela's table "queue" is the outside reference: its offsets must appear as positions of the read
pointer, in its order.
"""

import csv
import gzip
import json
import os
import subprocess
from xml.etree import ElementTree

import pytest
from ethosu_tools.boards import setup
from ethosu_tools.model import ModelFile
from ethosu_tools.sim import latency, table

from host_tests.kit.models import mixed_models

MODELS = {"segmenter": 3, "mixed_cnn": 1}


@pytest.fixture(params=MODELS)
def files(request, ethosu, tmp_path):
    """Model, trace and tables."""
    source, model, tables, trace = (
        tmp_path / name for name in ("m.tflite", "v.tflite", "t.xml", "o.json.gz")
    )
    source.write_bytes(mixed_models.MODELS[request.param].make())
    code, out, _ = ethosu("compile", source, "-o", model, "--debug-db", tables, "--json")
    assert code == 0 and json.loads(out)["debug_db"] == str(tables)
    code, out, _ = ethosu("profile", model, "--overlay", trace)
    assert code == 0 and f"overlay    {trace}" in out
    return request.param, model, tables, trace


def tables_of(path):
    return {
        table.get("name"): list(csv.DictReader((table.text or "").strip().splitlines()))
        for table in ElementTree.parse(path).getroot().findall("table")
    }


def events_of(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)["traceEvents"]


def test_the_pointer_reaches_the_commands_of_velas_table_in_order(files):
    name, _, tables, trace = files
    found = tables_of(tables)
    assert {"queue", "group", "perf", "source"} <= set(found), "the script requires them"
    events = events_of(trace)
    assert all(event["tid"] == "qread" and isinstance(event["ts"], int) for event in events)
    times = [event["ts"] for event in events]
    assert times == sorted(times)
    positions = [4 * event["args"]["qread"] for event in events]
    waiting = iter(positions)
    for row in found["queue"]:
        assert int(row["offset"]) in waiting, row
    streams = {row["cmdstream_id"] for row in found["queue"]}
    assert len(streams) == MODELS[name]
    assert positions[-1] > int(found["queue"][-1]["offset"])


def test_commands_take_the_estimated_cycles(files):
    """The time between two commands of the table is that of the operations between them."""
    _, model, tables, trace = files
    estimate = latency.estimate(ModelFile(model), setup.resolve(ModelFile(model), None).system)
    events = events_of(trace)
    assert events[-1]["ts"] == estimate.cycles + 1
    offsets = {int(row["offset"]) for row in tables_of(tables)["queue"]}
    kernels = [each for each in estimate.operations if each.offset in offsets]
    assert sum(each.cycles for each in kernels) == pytest.approx(estimate.cycles, rel=0.05)


def test_the_script_itself_reads_it(files, tmp_path):
    """Runs build_overlay_data() of ExecuTorch's examples/arm/visualize.py."""
    script = os.environ.get("EXECUTORCH_VISUALIZE")
    python = os.environ.get("MODEL_EXPLORER_PYTHON")
    if not script or not python:
        pytest.skip(
            "NOT READ BY EXECUTORCH'S SCRIPT: set EXECUTORCH_VISUALIZE to examples/arm/visualize.py"
            " and MODEL_EXPLORER_PYTHON to a Python with pandas and ai-edge-model-explorer"
        )
    _, model, tables, trace = files
    # The script imports ExecuTorch for its window only.
    (tmp_path / "run.py").write_text(
        "import importlib.util, json, sys, types\nfrom pathlib import Path\n"
        "name = ''\n"
        "for part in 'executorch devtools visualization visualization_utils'.split():\n"
        "    name = f'{name}.{part}'.strip('.')\n"
        "    sys.modules[name] = types.ModuleType(name)\n"
        "sys.modules[name].visualize_model_explorer = None\n"
        "spec = importlib.util.spec_from_file_location('visualize', sys.argv[1])\n"
        "script = importlib.util.module_from_spec(spec)\n"
        "sys.modules['visualize'] = script\n"
        "spec.loader.exec_module(script)\n"
        "data = script.build_overlay_data(Path(sys.argv[2]), Path(sys.argv[3]))\n"
        "nodes = data.graphsData['main'].results\n"
        "print(json.dumps({name: node.value for name, node in nodes.items()}))\n"
    )
    done = subprocess.run(
        [python, tmp_path / "run.py", script, trace, tables], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    nodes = json.loads(done.stdout.splitlines()[-1])
    source = ModelFile(model.with_name("m.tflite")).graph
    assert set(nodes) == {f"main/op{index}" for index in range(len(source.operators))}
    file = ModelFile(model)
    system = setup.resolve(file, None).system
    operations = latency.estimate(file, system).operations
    # The script has no operators that Vela added, and counts the fetch of the first commands.
    cycles = {
        f"main/op{layer.name.split()[0]}": layer.cycles
        for layer in table.by_operator(file, operations, system.memories)
        if layer.on_npu and layer.name[0].isdigit()
    }
    assert cycles
    for name, expected in cycles.items():
        assert nodes[name] == pytest.approx(expected, rel=0.05), name


def test_a_pytorch_model_has_no_database(ethosu, tmp_path):
    source = tmp_path / "m.py"
    source.write_text("")
    code, _, err = ethosu("compile", source, "--debug-db", tmp_path / "t.xml")
    assert code == 2 and "--debug-db is for TFLite models" in err
