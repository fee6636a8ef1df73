# SPDX-License-Identifier: MIT
"""Commands accept programs, their data files, and bundles."""

import json

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import strip
from ethosu_tools.link.board import Board
from ethosu_tools.link.emulator import qemu
from ethosu_tools.model import ModelFile, describe, reading, romfs
from ethosu_tools.model.tflite.flatbuffer_writer import i32s
from ethosu_tools.sim.need import Need

from host_tests.modules.ethosu.executorch import made, program_writer
from host_tests.modules.ethosu.executorch.made import LAST

KEY = "86dd" * 16
PATH = b"/home/developer/secret"


@pytest.fixture
def model(small_models):
    return small_models["small_cnn"]


@pytest.fixture
def case(model):
    return made.quantised_case(model, b"")


@pytest.fixture
def apart(model, case, raw, tmp_path):
    """Make a program with weights in a separate data file that it names, and inputs."""
    path = tmp_path / "kws.pte"
    path.write_bytes(made.quantised_ends(model, made.external(raw("u55"), KEY)).encode())
    path.with_suffix(".ptd").write_bytes(program_writer.data_file({KEY: raw("u55").weights}))
    np.savez(tmp_path / "in.npz", **{"0": case.inputs[0]})
    return path


def run(ethosu, *words):
    code, out, err = ethosu(*words)
    assert code == 0, err
    return out


@pytest.fixture(params=["sim", "qemu", "port"])
def where(request):
    """Return values of --on; the port is an emulated board's fast console, not its slow UART."""
    if request.param != "port":
        yield request.param
        return
    with qemu.Machine(emulated(npu="ethos-u55-128")) as machine:
        Board(machine.port).close()
        yield machine.port


def test_run_finds_the_data_file_next_to_the_program(ethosu, fails, apart, case, tmp_path, where):
    out = tmp_path / "out.npz"
    words = ["run", apart, "--input", tmp_path / "in.npz", "--output", out, "--on", where]
    run(ethosu, *words)
    with np.load(out) as found:
        np.testing.assert_array_equal(found["0"], case.outputs[0])
    moved = apart.with_suffix(".ptd").rename(tmp_path / "moved.ptd")
    fails(*words, code=3, said="another file (.ptd), which was not given")
    run(ethosu, *words, "--data", moved)


def test_other_commands_take_the_data_file(ethosu, fails, apart, tmp_path):
    for command in ("inspect", "profile"):
        assert "not found" not in run(ethosu, command, apart)
    moved = apart.with_suffix(".ptd").rename(tmp_path / "moved.ptd")
    for command in ("inspect", "profile"):
        run(ethosu, command, apart, "--data", moved)
    shown = run(ethosu, "inspect", apart)
    assert f"external   not found: {KEY}" in shown and "refused    " in shown
    fails("inspect", moved, code=3, said="is a data file (.ptd): pass the program")


def test_data_for_a_tflite_is_refused(ethosu, apart, compiled, model):
    code, _, err = ethosu("inspect", compiled(model), "--data", apart.with_suffix(".ptd"))
    assert code == 2 and "is not an ExecuTorch program: it has no data file" in err


def bundle(model, raw, spoil):
    case = made.quantised_case(model, made.quantised_ends(model, raw("u55")).encode())
    x, y = made.first_sizes(case.inputs[0]), case.outputs[0]
    cases = {"forward": [([x], [y]), ([x], [y ^ np.int8(spoil)])]}
    return program_writer.bundle(case.program, cases)


def test_the_cases_of_a_bundle_are_run_and_compared(ethosu, fails, model, raw, tmp_path, where):
    path = tmp_path / "kws.bpte"
    path.write_bytes(bundle(model, raw, 0))
    shown = run(ethosu, "run", path, "--on", where)
    assert "all 2 test cases of the file passed" in shown
    assert "cases      2 with expected outputs" in run(ethosu, "inspect", path)
    path.write_bytes(bundle(model, raw, 1))
    fails("run", path, "--on", where, code=6, said="output 0 of case 1 differs")


def test_a_program_without_cases_runs_on_random_inputs(ethosu, apart):
    assert "random inputs, seed 0" in run(ethosu, "run", apart)


@pytest.mark.parametrize("command", ["run", "validate"])
def test_images_with_channels_first_are_refused_with_the_transposition(
    ethosu, apart, tmp_path, command
):
    np.save(tmp_path / "nchw.npy", np.zeros((4, 3, 16, 16), "int8"))
    option = ["--input"] if command == "run" else []
    code, _, err = ethosu(command, apart, *option, tmp_path / "nchw.npy")
    assert code == 3 and "transpose it with np.transpose(x, (0, 2, 3, 1))" in err


def test_inspect_reports_cpu_operators_and_their_cost(ethosu, model, raw, tmp_path):
    path = tmp_path / "real.pte"
    program = made.real_ends(model, raw("u65 dedicated"))
    program.constant_method("rate", 16000)
    path.write_bytes(program.encode())
    shown = run(ethosu, "inspect", path)
    assert f"{made.QUANTIZE} x 1: 768 values" in shown and "constant   rate = 16000" in shown
    assert "the CPU quantises and dequantises 778 values in each run" in shown
    runtime = json.loads(run(ethosu, "inspect", path, "--json"))["runtime"]
    assert runtime["scratch_size"] == raw("u65 dedicated").scratch_size
    assert runtime["fast_scratch_size"] > 0
    shown = run(ethosu, "inspect", path, "--memory")
    assert "0 of 2 inputs and outputs of delegates are copied" in shown
    assert "at byte" in shown
    assert "picture " in run(ethosu, "inspect", path, "--memory", tmp_path / "scratch.svg")
    assert "at byte" in (tmp_path / "scratch.svg").read_text()


def test_a_layer_of_a_program_names_its_operation(ethosu, model, raw, tmp_path):
    """A layer is named by its operation, to which copies of its weights belong, too."""
    path = tmp_path / "kws.pte"
    path.write_bytes(made.quantised_ends(model, raw("u65 dedicated")).encode())
    found = json.loads(run(ethosu, "profile", path, "--json"))
    layers = [each for each in found["layers"] if each["on"] == "npu"]
    assert layers[0]["name"].startswith("CONV 8x8x16 at byte ")
    assert layers[1]["operations"] == 2, "the copy of its weights, too"
    assert not any("DMA_START" in each["name"] for each in layers)
    assert sum(each["cycles"] for each in layers) == found["cycles"]


def test_tensors_read_before_they_are_written_are_state():
    program = program_writer.Program()
    method = program.forward
    x, kept, y = (method.tensor("float32", (4,)) for _ in range(3))
    method.inputs, method.outputs = [x], [y]
    method.kernel("aten::clone", [kept, method.number(None), y, y])
    method.kernel("aten::copy_", [kept, x, method.number(False), kept], overload="")
    described = describe(program.encode())
    # aten::copy_ lists the tensor that it writes first among those it reads, too.
    assert (described.state_bytes, described.missing) == (16, ())


def test_deploy_refuses_what_the_firmware_cannot_run(ethosu, model, raw, tmp_path):
    path, image = tmp_path / "bad.pte", tmp_path / "rom.img"
    program = made.quantised_ends(model, made.external(raw("u55"), KEY))
    program.forward.kernel("aten::foo", [0, 0, 0])
    program.forward.delegates[0][2].insert(0, {0: "debug_artifact_path", 1: PATH})
    path.write_bytes(program.encode())
    code, _, err = ethosu("deploy", path, "-o", image)
    assert code == 3 and "operator aten::foo is not in the firmware" in err
    assert f"data {KEY} is not in a .ptd with the program's name" in err and not image.exists()
    for more in ([], ["--strip"]):
        out = run(ethosu, "deploy", path, "-o", image, "--force", *more)
        assert "warning    bad.pte: operator aten::foo" in out
        assert ("bad.pte was not stripped: " in out) == bool(more)
        assert image.read_bytes() == romfs.build({"bad.pte": path.read_bytes()})


def test_deploy_takes_the_data_file_along(ethosu, apart, tmp_path):
    image = tmp_path / "rom.img"
    assert "kws.ptd, kws.pte" in run(ethosu, "deploy", apart, "-o", image)
    content = {"kws.pte": apart.read_bytes(), "kws.ptd": apart.with_suffix(".ptd").read_bytes()}
    assert image.read_bytes() == romfs.build(content)


def wasteful(model, raw):
    """Make a program with an unused constant, a used one, and a path."""
    program = made.quantised_ends(model, raw("u55"))
    method = program.forward
    unused = program.constant(np.arange(500, dtype=np.float32))
    used = program.constant(np.arange(6, dtype=np.float32))
    method.tensor("float32", (500,), constant=True, data=unused)
    program.constant_method("mean", np.arange(3, dtype=np.float32))
    source = method.tensor("float32", (6,), constant=True, data=used)
    listed = method.tensor("float32", (6,), constant=True, data=used)
    method.value(10, {0: i32s([listed])})  # a list of tensors
    y = method.tensor("float32", (6,))
    method.kernel("aten::clone", [source, method.number(None), y, y])
    method.outputs.append(y)
    specs = method.delegates[0][2]
    specs.insert(0, {0: "debug_artifact_path", 1: PATH})
    return program.encode()


def test_strip_removes_unused_data(ethosu, model, raw, tmp_path, monkeypatch):
    path, output = tmp_path / "kws.pte", tmp_path / "small.pte"
    path.write_bytes(wasteful(model, raw))
    assert PATH in path.read_bytes()
    shown = run(ethosu, "compile", path, "--strip", "-o", output)
    assert "its outputs are the same" in shown
    stripped = output.read_bytes()
    assert PATH not in stripped and len(stripped) <= path.stat().st_size - 4 * 500 + 128  # padding
    file = ModelFile(stripped)
    assert strip.strip(file) is file
    kinds = [value.kind for value in file.methods["forward"].values]
    assert "tensors" in kinds and kinds.count("null") == 2  # the unused one, and an argument
    assert b"target" in stripped and b"debug_artifact_path" not in stripped
    (image,) = (romfs.build({"kws.pte": stripped}),)
    judged = []
    nothing = Need(None, 0, 0, 0, 0, 0, 0)
    monkeypatch.setattr(Need, "of", lambda file: judged.append(file.data) or nothing)
    run(ethosu, "deploy", path, "--strip", "-o", tmp_path / "rom.img")
    assert (tmp_path / "rom.img").read_bytes() == image
    assert judged == [stripped], "what is sent has to fit"


def test_strip_of_a_damaged_program_is_one_error(model, raw):
    data = wasteful(model, raw)
    for at in range(0, len(data), 41):
        spoilt = data[:at] + bytes([data[at] ^ 0x7F]) + data[at + 1 :]
        try:
            with reading(spoilt):
                strip.strip(ModelFile(spoilt))
        except InputError:
            pass


def test_a_program_in_another_order_is_stored_by_its_sizes():
    """A bundle's cases, stored as N, C, H, W, fit a program whose bytes are N, H, W, C."""
    x = np.arange(24, dtype=np.int8).reshape(1, 2, 3, 4)
    program = program_writer.Program()
    program.forward.inputs = [program.forward.tensor("int8", x.shape, LAST)]
    bundle = program_writer.bundle(program.encode(), {"forward": [([x], [])]})
    file = ModelFile(bundle)
    (arranged,) = file.cases[0].arrange(file.methods["forward"]).inputs
    np.testing.assert_array_equal(arranged, x.transpose(0, 2, 3, 1))
