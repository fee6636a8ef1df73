# SPDX-License-Identifier: MIT
"""`ethosu compile` of PyTorch models: with a stand-in for ExecuTorch, and with the real one."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.executorch import exporter
from ethosu_tools.sim import Simulation

from host_tests.kit import needs, stand_ins
from host_tests.modules.ethosu.runtime.executorch import made

# Runs the exporter, and writes the quantised graph's result in PyTorch.
REFERENCE = """
import json, sys
import numpy as np, torch
import torchao.quantization.pt2e.quantize_pt2e as pt2e
sys.path.insert(0, {folder!r})
import exporter
convert = pt2e.convert_pt2e
def noted(prepared):
    graph = convert(prepared)
    inputs = exporter.to_channels_last(torch, tuple(torch.randn(1, 1, 49, 10) for _ in range(8)))
    outputs = [graph(each).detach().numpy() for each in inputs]
    np.savez("reference.npz", inputs=torch.stack(inputs).numpy(), outputs=np.stack(outputs))
    return graph
pt2e.convert_pt2e = noted
exporter.export(json.loads(sys.argv[1]))
"""


@pytest.fixture
def stand_in(tmp_path, small_models, raw):
    """A Python that pretends to have ExecuTorch, and writes its options and a program."""
    program = made.quantised_ends(small_models["small_cnn"], raw("u55")).encode()
    (tmp_path / "ready").write_bytes(program)
    return stand_ins.program(
        tmp_path / "python",
        "import json, pathlib, shutil, sys\n"
        "if sys.argv[1] != '-c':\n"
        "    options = json.loads(sys.argv[2])\n"
        "    if 'bad' in options['model']:\n"
        "        sys.exit('RuntimeError: no such operator')\n"
        f"    pathlib.Path({str(tmp_path / 'asked.json')!r}).write_text(sys.argv[2])\n"
        f"    shutil.copy({str(tmp_path / 'ready')!r}, options['output'])\n",
    )


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("model = None\ninputs = ()\n")
    return path


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        ([], {"npu": "ethos-u55-128", "channels_last": True, "integer_io": True}),
        (["--npu", "ethos-u85-256"], {"npu": "ethos-u85-256", "system_config": None}),
        (["--no-channels-last", "--float-io"], {"channels_last": False, "integer_io": False}),
        (["--memory-mode", "Sram_Only"], {"memory_mode": "Sram_Only"}),
        (["--vela=--optimise Size"], {"vela": ["--optimise", "Size"]}),
    ],
)
def test_options_reach_the_exporter(ethosu, stand_in, model, tmp_path, words, asked):
    output = tmp_path / "net.pte"
    code, out, err = ethosu("compile", model, "--python", stand_in, "-o", output, *words)
    assert code == 0, err
    found = json.loads((tmp_path / "asked.json").read_text())
    assert asked.items() <= found.items()
    assert output.read_bytes() == (tmp_path / "ready").read_bytes()
    assert "npu        ethos-u55-128" in out


def test_a_board_determines_the_options_for_vela(ethosu, stand_in, model, tmp_path):
    words = ["--board", "MPS3_AN547", "-o", tmp_path / "net.pte"]
    assert ethosu("compile", model, "--python", stand_in, *words)[0] == 0
    found = json.loads((tmp_path / "asked.json").read_text())
    assert found["npu"] == "ethos-u55-128" and found["system_config"]
    assert Path(found["vela"][-1]).name.startswith("MPS3_AN547")


def test_a_program_that_the_runtime_refuses_is_not_written(
    ethosu, stand_in, model, small_models, raw, tmp_path
):
    program = made.quantised_ends(small_models["small_cnn"], raw("u55"))
    program.forward.kernel("aten::foo", [0, 0, 0])
    (tmp_path / "ready").write_bytes(program.encode())
    output = tmp_path / "net.pte"
    words = ["compile", model, "--python", stand_in, "--board", "MPS3_AN547", "-o", output]
    code, _, err = ethosu(*words)
    assert code == 3 and "aten::foo" in err and "net.py" in err and not output.exists()
    code, out, _ = ethosu(*words, "--force")
    assert code == 0 and "\nrefused    " in out and output.exists()


@pytest.mark.parametrize(
    ("words", "code", "expected"),
    [
        (
            ["net.py", "--python", "/bin/false"],
            4,
            "/bin/false cannot load ExecuTorch: exit code 1, no output. Create an environment ",
        ),
        (["net.py", "--python", "/none"], 4, "/none cannot be run: No such file"),
        (["none.py", "--python", "STAND_IN"], 3, "none.py"),
        (["bad.py", "--python", "STAND_IN"], 3, "could not export bad.py: RuntimeError: no such"),
        (["net.py", "--selftest"], 2, "are for TFLite models"),
        (["net.tflite", "--float-io"], 2, "are for PyTorch models"),
    ],
)
def test_refusals(ethosu, stand_in, model, monkeypatch, words, code, expected):
    monkeypatch.chdir(model.parent)
    (model.parent / "bad.py").write_text("")
    found, _, err = ethosu("compile", *(str(stand_in) if w == "STAND_IN" else w for w in words))
    assert found == code and expected in err and not (model.parent / "bad.pte").exists()


def test_a_file_that_names_no_model_is_refused(tmp_path):
    path = tmp_path / "empty.py"
    path.write_text("inputs = ()\n")
    with pytest.raises(SystemExit, match=r"empty\.py does not define model"):
        exporter.read_model(None, path)


@pytest.mark.slow
@pytest.mark.parametrize("integer_io", [True, False])
def test_the_real_exporter_is_exact(repo, tmp_path, integer_io):
    """The page's keyword spotter: outputs equal those of the quantised graph in PyTorch."""
    python = needs.python_with("executorch", "EXECUTORCH_PYTHON")
    page = (repo / "modules/ethosu/docs/pytorch.md").read_text()
    (tmp_path / "kws.py").write_text(re.search(r"^```py\n(.*?)^```$", page, re.M | re.S)[1])
    script = REFERENCE.format(folder=str(repo / "tools/ethosu_tools/executorch"))
    options = {
        **{"model": "kws.py", "output": "kws.pte", "npu": "ethos-u55-128", "vela": []},
        **{"system_config": None, "memory_mode": None, "channels_last": True},
        "integer_io": integer_io,
    }
    subprocess.run(
        [python, "-c", script, json.dumps(options)], cwd=tmp_path, check=True, capture_output=True
    )
    with np.load(tmp_path / "reference.npz") as file:
        inputs, expected = file["inputs"], file["outputs"]
    with Simulation(tmp_path / "kws.pte") as simulation:
        (first,), (last,) = simulation.inputs, simulation.outputs
        if integer_io:
            inputs = made.quantize(inputs, made.End((), first.scale, first.zero_point))
            expected = made.quantize(expected, made.End((), last.scale, last.zero_point))
        for x, y in zip(inputs, expected, strict=True):
            (found,) = simulation.step([x.reshape(first.shape)])
            np.testing.assert_array_equal(found, y.reshape(last.shape))
