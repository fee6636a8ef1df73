# SPDX-License-Identifier: MIT
"""ExecuTorch programs are exact: our own match TFLite, exported ones match PyTorch."""

import json

import numpy as np
import pytest
from ethosu_tools import romfs
from ethosu_tools.arrays import Feed
from ethosu_tools.board import QemuBoard
from ethosu_tools.errors import InputError
from ethosu_tools.model import ModelFile
from ethosu_tools.oracle import Oracle
from ethosu_tools.qemu import Machine
from ethosu_tools.runner import open_runner
from ethosu_tools.sim import Simulation

from host_tests.kit import sharing

from ..kernels.maker import Maker
from . import cortex_m, damaged, made
from .conftest import OPTIONS
from .program_writer import Program, data_file

EXPORTED = {
    "conv_u55_128": "ethos-u55-128",
    "conv_u55_128_int8io": "ethos-u55-128",
    "conv_u85_256": "ethos-u85-256",
    "dscnn_u55_128": "ethos-u55-128",
    "mixed_u55_128_cortexm": "ethos-u55-128",
    "twoconv_nchw": "ethos-u55-128",
    "twoconv_nhwc": "ethos-u55-128",
}


def check(runner, case, steps=2):
    """A second run must not see data of the first one."""
    found = list(runner.run(Feed(tuple(np.stack([x] * steps) for x in case.inputs), steps, True)))
    assert len(found) == steps
    for outputs in found:
        for array, expected in zip(outputs, case.outputs, strict=True):
            assert array.dtype == expected.dtype and array.shape == expected.shape
            np.testing.assert_array_equal(array.view(np.uint8), expected.view(np.uint8))


def exported(folder, name):
    """An exported program, with arrays in the program's memory order."""
    folder = folder / name
    program = (folder / f"{name}.pte").read_bytes()
    method = ModelFile(program).methods["forward"]
    inputs = [np.load(path) for path in sorted(folder.glob("input*.npy"))]
    outputs = [np.load(path) for path in sorted(folder.glob("expected*.npy"))]
    if name.endswith("int8io"):
        io = json.loads((folder / "io_qparams.json").read_text())
        first = made.End((), io["input0_scale"], io["input0_zp"])
        last = made.End((), io["output0_scale"], io["output0_zp"])
        inputs = [made.quantize(x, first) for x in inputs]
        outputs = [made.quantize(y, last) if y.dtype == np.float32 else y for y in outputs]

    def ordered(arrays, values):
        tensors = [method.tensor(index) for index in values]
        return [
            np.ascontiguousarray(array.reshape(tensor.sizes).transpose(tensor.order))
            for array, tensor in zip(arrays, tensors, strict=True)
        ]

    return made.Case(program, ordered(inputs, method.inputs), ordered(outputs, method.outputs))


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_program_is_exact(shared_programs, name):
    case = exported(shared_programs, name)
    with Simulation(case.program, coherence="strict") as simulation:
        assert simulation.npu == EXPORTED[name]
        check(simulation, case)


@pytest.mark.parametrize("name", EXPORTED)
def test_an_exported_program_is_exact_on_a_board(shared_programs, name):
    case = exported(shared_programs, name)
    with open_runner(shared_programs / name / f"{name}.pte", "qemu") as runner:
        check(runner, case)


@pytest.mark.parametrize("inline", [False, True], ids=["segment", "inline"])
@pytest.mark.parametrize("name", OPTIONS)
def test_integer_inputs_and_outputs(raw, small_models, name, inline):
    model, blob = small_models["small_cnn"], raw(name)
    assert blob.commands[:4] == (b"COP2" if "--cop-format" in OPTIONS[name] else b"COP1")
    assert (blob.scratch_size == 0) == (name == "u85 separate")
    program = made.quantised_ends(model, blob, inline=inline).encode()
    with Simulation(program, coherence="strict") as simulation:
        check(simulation, made.quantised_case(model, program))


@pytest.mark.parametrize("name", OPTIONS)
def test_real_inputs_and_outputs(raw, small_models, name):
    model = small_models["small_cnn"]
    program = made.real_ends(model, raw(name)).encode()
    with Simulation(program, coherence="strict") as simulation:
        check(simulation, made.real_case(model, program))


@pytest.mark.parametrize("ends", ["integer", "real"])
@pytest.mark.parametrize("name", ["u55", "u65 dedicated", "u85 separate"])
def test_an_own_program_on_a_board(raw, small_models, tmp_path, name, ends):
    model = small_models["small_cnn"]
    make, case = {
        "integer": (made.quantised_ends, made.quantised_case),
        "real": (made.real_ends, made.real_case),
    }[ends]
    path = tmp_path / "own.pte"
    path.write_bytes(make(model, raw(name)).encode())
    with open_runner(path, "qemu") as runner:
        check(runner, case(model, path.read_bytes()))


def test_a_tensor_that_a_delegate_reads_twice_is_in_both_places(vela, tmp_path):
    """One of them is the tensor's memory, the other one gets a copy."""
    maker = Maker(np.random.default_rng(5))
    inputs = [maker.input((1, 8, 8, 4), "int8", 0.5, zero) for zero in (3, -9)]
    maker.operator("ADD", inputs, [maker.output((1, 8, 8, 4), "int8", 1.0, 0)], "AddOptions")
    model = tmp_path / "add.tflite"
    model.write_bytes(maker.finish().model)
    blob = made.binary(vela(model, *OPTIONS["u55"], "--output-format", "raw"))
    assert len({io.offset for io in blob.inputs}) == 2
    program = Program()
    method = program.forward
    method.inputs, method.outputs = (
        [method.tensor("int8", (1, 4, 8, 8), made.LAST)] for _ in range(2)
    )
    program.delegate(blob.encode(), [*method.inputs * 2, *method.outputs])
    x = np.random.default_rng(6).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)
    with Simulation(program.encode(), coherence="strict") as simulation:
        check(simulation, made.Case(b"", [x], Oracle(model).step([x, x])))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", cortex_m.OPERATORS)
def test_an_operator_of_the_cpu(name, seed):
    case = cortex_m.OPERATORS[name](seed)
    with Simulation(case.program, "ethos-u55-128", coherence="strict") as simulation:
        check(simulation, case)


@pytest.mark.parametrize("scale", [0.0005, 0.002])
def test_softmax_of_many_alike_classes(scale):
    """Each contribution is less than half a step, so it rounds to zero."""
    case = cortex_m.softmax_of_many(scale)
    with Simulation(case.program, "ethos-u55-128", coherence="strict") as simulation:
        check(simulation, case)


@pytest.mark.parametrize("name", ["conv2d", "add", "activation", "softmax", "batch_matmul", "pad"])
def test_operators_of_the_cpu_on_a_board(tmp_path, name):
    path = tmp_path / "operator.pte"
    case = cortex_m.OPERATORS[name](1)
    path.write_bytes(case.program)
    with open_runner(path, "qemu", npu="ethos-u55-128") as runner:
        check(runner, case)


def test_scratch_that_was_planned_too_small_is_refused():
    with pytest.raises(InputError, match="0 bytes of scratch planned, 24 aligned to 16 needed"):
        Simulation(cortex_m.conv2d(scratch=False).program, "ethos-u55-128")


@pytest.mark.parametrize("place", ["in the program", "in a data file"])
def test_weights_of_another_block_are_found_by_their_key(raw, small_models, place):
    model, key = small_models["small_cnn"], "86dd" * 16
    program = made.quantised_ends(model, made.external(raw("u55"), key))
    weights = raw("u55").weights
    files = None
    if place == "in the program":
        program.named = {"other": 0, key: program.segment(weights)}
    else:
        files = data_file({"another": b"data", key: weights})
    with Simulation(program.encode(), coherence="strict", data=files) as simulation:
        check(simulation, made.quantised_case(model, program.encode()))


def test_a_data_file_without_the_key_or_damaged_is_refused(raw, small_models):
    program = made.quantised_ends(small_models["small_cnn"], made.external(raw("u55"), "ab" * 32))
    good = data_file({"ab" * 32: raw("u55").weights})
    files = [data_file({"cd" * 32: b"weights"}), b"", b"no such file" * 9, good[:-5000]]
    files += [good[:size] for size in range(0, 400, 7)]
    for file in files:
        with pytest.raises(InputError, match=r"the data file \(.ptd\) has not the data"):
            Simulation(program.encode(), data=file)


def test_rows_that_the_npu_pads_are_packed(raw, small_models):
    """An output whose size differs from its tensor's is never written directly to it."""
    model, blob = small_models["small_cnn"], raw("u55")
    (last,) = blob.outputs
    padded = made.moved(blob, outputs=(made.moved(last, shape=(1, 1, 1, 1, 1, 16)),))
    program = made.quantised_ends(model, padded).encode()
    with Simulation(program, coherence="strict") as simulation:
        check(simulation, made.quantised_case(model, program))


def test_pairs_of_int4_are_unpacked(raw, small_models):
    """If an output has half its tensor's bytes, each byte holds two values, the lower one first."""
    model, blob = small_models["small_cnn"], raw("u55")
    program = Program()
    method = program.forward
    method.inputs = [method.tensor("int8", damaged.INPUT.sizes, damaged.INPUT.order)]
    method.outputs = [method.tensor("int8", (1, 20))]
    program.delegate(blob.encode(), [*method.inputs, *method.outputs])
    case = made.quantised_case(model, b"")
    (bytes_of_two,) = case.outputs
    pairs = np.stack([bytes_of_two << 4, bytes_of_two], -1).astype(np.int8) >> 4
    assert len(np.unique(pairs)) > 4
    with Simulation(program.encode(), coherence="strict") as simulation:
        check(simulation, made.Case(b"", case.inputs, [pairs.reshape(1, 20)]))


def test_an_input_of_a_delegate_may_be_a_constant(raw, small_models):
    """It is copied and stays unchanged."""
    model = small_models["small_cnn"]
    case = made.quantised_case(model, b"")
    program = Program()
    method = program.forward
    x = method.tensor(
        "int8",
        damaged.INPUT.sizes,
        damaged.INPUT.order,
        constant=True,
        data=program.constant(case.inputs[0]),
    )
    method.outputs = [method.tensor("int8", damaged.OUTPUT.sizes)]
    program.delegate(raw("u55").encode(), [x, *method.outputs])
    with Simulation(program.encode()) as simulation:
        check(simulation, made.Case(program.encode(), [], case.outputs))


LOADS = """
import ethosu, gc

def load(path):
    try:
        ethosu.Model(path).deinit()
        return None
    except ValueError as error:
        return str(error)

def kept(path):
    load(path)
    gc.collect()
    before = gc.mem_alloc()
    for _ in range(20):
        load(path)
    gc.collect()
    return gc.mem_alloc() - before
"""


def test_memory_is_given_back_on_every_path(raw, small_models):
    """After a model that ends, one rejected during measurement, and one rejected later."""
    blob = raw("u55")
    good = made.quantised_ends(small_models["small_cnn"], blob).encode()
    commands = bytearray(blob.commands)
    commands[-4:] = b"\xff\xff\xff\xff"
    files = {
        "good.pte": good,
        "bad.pte": damaged.DELEGATES["no inputs"][0](blob),
        "late.pte": damaged._file(made.moved(blob, commands=bytes(commands)).encode()),
    }
    with QemuBoard(Machine(romfs=romfs.build(files))) as board:
        board.exec(LOADS)
        assert board.eval("load('/rom/good.pte')") is None
        assert "argument" in board.eval("load('/rom/bad.pte')")
        assert "command" in board.eval("load('/rom/late.pte')")
        for name in files:
            assert board.eval(f"kept('/rom/{name}')") == 0


def flags(*options):
    """The flags that the module adds to those of the port."""
    lines = "$(info $(CFLAGS_USERMOD) $(LDFLAGS_USERMOD))\nall:\n\t@true\n"
    return set(sharing.ask_module(lines, *options).split())


def test_programs_change_no_flag_of_the_port():
    with_programs, without = flags(), flags("ETHOSU_WITHOUT=pte")
    assert with_programs < without and without - with_programs == {"-DETHOSU_PTE=0"}
