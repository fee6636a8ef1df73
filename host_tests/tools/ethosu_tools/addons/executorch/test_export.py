# SPDX-License-Identifier: MIT
"""Tests `ethosu compile` of PyTorch models with a stand-in for ExecuTorch, and the real one."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.addons.executorch import exporter

from host_tests.kit import needs, pages, stand_ins
from host_tests.modules.ethosu.executorch import made, program_writer

# A convolution of three frames, of which forward() gets one; BEGIN and KEEP differ.
STATEFUL = """
import torch
class Past(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("past", torch.BEGIN(1, 4, 3))
    def forward(self, x):
        now = torch.cat([self.past[:, :, 1:], x], 2)
        KEEP
        return now
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.past, self.conv, self.dense = Past(), torch.nn.Conv1d(4, 8, 3), torch.nn.Linear(8, 4)
    def forward(self, x):
        return self.dense(torch.relu(self.conv(self.past(x))).squeeze(2))
torch.manual_seed(0)
model, inputs = Net(), (torch.randn(1, 4, 1),)
calibration = [(torch.randn(1, 4, 1),) for _ in range(8)]
"""
# A model for 1 to 8 samples.
DYNAMIC = """
import sys, torch
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
batch = {0: torch.export.Dim("batch", min=1, max=8)}
program = torch.export.export(net, (torch.randn(3, 8),), dynamic_shapes=(batch,))
torch.export.save(program, sys.argv[1])
"""


@pytest.fixture
def samples(small_models):
    return made.samples(small_models["small_cnn"])


@pytest.fixture
def stand_in(tmp_path, small_models, raw, samples):
    """Make a Python that pretends to have ExecuTorch, and writes its options and a program."""
    program = made.quantised_ends(small_models["small_cnn"], raw("u55")).encode()
    (tmp_path / "ready").write_bytes(program)
    np.savez(tmp_path / "samples.npz", **samples)
    return stand_ins.program(
        tmp_path / "python",
        "import json, pathlib, shutil, sys\n"
        "if sys.argv[1] != '-c':\n"
        "    options = json.loads(sys.argv[2])\n"
        "    if 'bad' in options['model']:\n"
        "        sys.exit('RuntimeError: no such operator')\n"
        f"    pathlib.Path({str(tmp_path / 'asked.json')!r}).write_text(sys.argv[2])\n"
        f"    shutil.copy({str(tmp_path / 'ready')!r}, options['output'])\n"
        f"    shutil.copy({str(tmp_path / 'samples.npz')!r}, options['samples'])\n",
    )


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("model = None\ninputs = ()\n")
    return path


@pytest.fixture
def output(tmp_path):
    return tmp_path / "net.pte"


@pytest.fixture
def command(stand_in, model, output):
    """Return a function that runs `ethosu compile` of the model, with the stand-in."""
    return ["compile", model, "--python", stand_in, "-o", output]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ([], {"npu": "ethos-u55-128", "channels_last": True, "integer_io": True}),
        (["--npu", "ethos-u85-256"], {"npu": "ethos-u85-256", "system_config": None}),
        (["--no-channels-last", "--float-io"], {"channels_last": False, "integer_io": False}),
        (["--memory-mode", "Sram_Only"], {"memory_mode": "Sram_Only"}),
        (["--vela=--optimise Size"], {"vela": ["--optimise", "Size"]}),
    ],
)
def test_options_reach_the_exporter(ethosu, command, output, tmp_path, options, asked):
    code, out, err = ethosu(*command, *options)
    assert code == 0, err
    found = json.loads((tmp_path / "asked.json").read_text())
    assert asked.items() <= found.items()
    assert output.read_bytes() == (tmp_path / "ready").read_bytes()
    assert "npu        ethos-u55-128" in out


def test_a_board_determines_the_options_for_vela(ethosu, command, tmp_path):
    assert ethosu(*command, "--board", "MPS3_AN547")[0] == 0
    found = json.loads((tmp_path / "asked.json").read_text())
    assert found["npu"] == "ethos-u55-128" and found["system_config"]
    assert Path(found["vela"][-1]).name.startswith("MPS3_AN547")


def test_a_program_that_the_runtime_refuses_is_not_written(
    ethosu, command, output, small_models, raw, tmp_path
):
    program = made.quantised_ends(small_models["small_cnn"], raw("u55"))
    program.forward.kernel("aten::foo", [0, 0, 0])
    (tmp_path / "ready").write_bytes(program.encode())
    words = [*command, "--board", "MPS3_AN547"]
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
        (["net.py", "--selftest"], 2, "--selftest cannot be used for a PyTorch model"),
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


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_program_is_compared_with_the_model(ethosu, command, tmp_path, samples, noise):
    """Each sample is compared, in order, with the float model and with the quantised one."""
    random = np.random.default_rng(0)
    samples["eager0"] += noise * random.normal(0, samples["eager0"].std(), samples["eager0"].shape)
    samples["quantised0"][1, 0, 3] += 2 / 256
    np.savez(tmp_path / "samples.npz", **samples)
    code, out, err = ethosu(*command, "--json")
    assert code == 0, err
    proof = json.loads(out)["proof"]
    (row,) = proof["outputs"]
    assert proof["steps"] == 3
    assert (row["exact"]["differing"], row["exact"]["largest"], row["exact"]["step"]) == (1, 2, 1)
    expected = samples["exported0"]
    error = np.square(samples["eager0"].astype(np.float64) - expected).sum()
    if noise:
        power = np.square(samples["eager0"].astype(np.float64)).sum()
        assert row["snr"]["program"] == pytest.approx(10 * np.log10(power / error))
    out = ethosu(*command)[1]
    assert "1 of 30 values differ, by up to 2" in out
    assert ("equal against PyTorch" in out) == (not noise)


@pytest.mark.parametrize(
    ("poor", "expected"),
    [
        (("exported0", "quantised0"), "torch.export.export() changes the model"),
        (("quantised0",), "give more `calibration` samples"),
        ((), "ExecuTorch's exporter changes it"),
    ],
)
def test_a_program_that_is_another_model_is_not_written(
    ethosu, fails, command, output, tmp_path, samples, poor, expected
):
    """A program that computes another model is rejected; the error names the faulty step."""
    right = np.roll(samples["eager0"], 1, axis=0) * 3
    for name in {"eager0", "exported0", "quantised0"} - set(poor):
        samples[name] = right
    np.savez(tmp_path / "samples.npz", **samples)
    fails(*command, code=6, said=(expected, "expected at least 10 dB", "(output0)"))
    assert not output.exists()
    code, out, _ = ethosu(*command, "--force")
    assert code == 0 and " dB against PyTorch's floats" in out and output.exists()


def test_a_program_with_other_ends_than_the_model_is_not_written(fails, command, tmp_path, samples):
    np.savez(tmp_path / "samples.npz", **samples, eager1=samples["eager0"])
    fails(*command, code=3, said="has 1 outputs, the PyTorch model 2")
    samples["eager0"] = samples["eager0"].reshape(3, 2, 5)
    np.savez(tmp_path / "samples.npz", **samples)
    fails(*command, code=3, said="output0 has shape [1, 10], the PyTorch model's [2, 5]")


def export(ethosu, tmp_path, source, *words):
    """Compile with the real exporter."""
    python = needs.python_with("executorch", "EXECUTORCH_PYTHON")
    (tmp_path / "net.py").write_text(source)
    output = tmp_path / "net.pte"
    return ethosu(
        *("compile", tmp_path / "net.py", "--python", python, "-o", output, "--json"), *words
    )


@pytest.mark.parametrize("options", [[], ["--board", "MPS3_AN547"]])
def test_a_program_for_no_npu_is_not_written_without_force(
    ethosu, command, model, output, tmp_path, options
):
    """A program without NPU operators is rejected with the reasons, as a .tflite is."""
    program = program_writer.Program()
    method = program.forward
    method.inputs, method.outputs = ([method.tensor("float32", (1, 8))] for _ in range(2))
    method.kernel("aten::convolution", [*method.inputs, *method.outputs * 2])
    (tmp_path / "ready").write_bytes(program.encode())
    words = [*command, *options]
    code, _, err = ethosu(*words)
    reason = "no kernel computes aten::convolution x 1, and nothing runs on the NPU\n"
    assert code == 3 and f"{model} can't run here: {reason}" in err and not output.exists()
    assert "compute them in Python" in err and "--force writes it anyway" in err
    code, out, _ = ethosu(*words, "--force")
    assert code == 0 and "missing    aten::convolution" in out and output.exists()


def test_a_shape_that_may_change_is_said(ethosu, command, tmp_path, samples):
    np.savez(tmp_path / "samples.npz", **samples, notes=np.array(["x has a dynamic shape"]))
    out = ethosu(*command)[1]
    assert "           x has a dynamic shape" in out


def test_the_exporter_needs_no_certain_folder():
    """The exporter asks for no guards; PyTorch omits them by itself only for certain paths."""
    calls = re.findall(r"\.module\((.*?)\)", Path(exporter.__file__).read_text())
    assert calls and set(calls) == {"check_guards=False"}


@pytest.mark.slow
def test_a_dynamic_batch_is_said(ethosu, tmp_path):
    python = needs.python_with("executorch", "EXECUTORCH_PYTHON")
    path = tmp_path / "net.pt2"
    subprocess.run([python, "-c", DYNAMIC, path], check=True)
    code, out, err = ethosu("compile", path, "--python", python, "-o", tmp_path / "net.pte")
    assert code == 0, err
    assert re.search(r"has a dynamic shape, \[\w+, 8\]; the program takes the example's", out)


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--float-io"]])
def test_the_real_exporter_is_exact(ethosu, tmp_path, words):
    """The page's keyword spotter gives the outputs of the quantised graph in PyTorch."""
    spotter = pages.file("modules/ethosu/executorch/pytorch.md", "kws.py")
    code, out, err = export(ethosu, tmp_path, spotter, *words)
    assert code == 0, err
    (row,) = json.loads(out)["proof"]["outputs"]
    assert row["exact"]["differing"] == 0 and row["snr"]["program"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--float-io"]])
@pytest.mark.parametrize("begin", ["zeros", "ones"])
def test_state_is_exported(ethosu, tmp_path, begin, words):
    source = STATEFUL.replace("BEGIN", begin).replace("KEEP", "self.past.copy_(now)")
    code, out, err = export(ethosu, tmp_path, source, *words)
    assert code == 0, err
    data = json.loads(out)
    (row,) = data["proof"]["outputs"]
    assert row["exact"]["differing"] == 0 and row["snr"]["program"] > 30
    assert data["outputs"][0]["dtype"] == ("float32" if words else "int8")
    assert bool(data["outputs"][0]["scale"]) == (not words) and data["state_bytes"] == 48


@pytest.mark.slow
def test_state_that_torch_leaves_out_is_noticed(ethosu, tmp_path):
    source = STATEFUL.replace("BEGIN", "ones").replace("KEEP", "self.past = now")
    code, _, err = export(ethosu, tmp_path, source)
    assert code == 6 and "self.past.copy_(x)" in err
