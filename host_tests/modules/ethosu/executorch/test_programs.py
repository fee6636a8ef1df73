# SPDX-License-Identifier: MIT
"""Programs that differ from those of exactness/models.py in one property each are exact."""

import numpy as np
import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs
from ethosu_tools.sim.oracle import Oracle
from ethosu_tools.sim.simulation import Simulation

from host_tests.kit import sharing
from host_tests.modules.ethosu.runtime.kernels.maker import Maker

from . import cortex_m, damaged, made
from .program_writer import Program, data_file


def test_a_tensor_that_a_delegate_reads_twice_is_in_both_places(vela, tmp_path):
    """A tensor that a delegate reads at two places is copied to one of them."""
    maker = Maker(np.random.default_rng(5))
    inputs = [maker.input((1, 8, 8, 4), "int8", 0.5, zero) for zero in (3, -9)]
    maker.operator("ADD", inputs, [maker.output((1, 8, 8, 4), "int8", 1.0, 0)], "AddOptions")
    model = tmp_path / "add.tflite"
    model.write_bytes(maker.finish().model)
    blob = made.binary(vela(model, *made.OPTIONS["u55"], "--output-format", "raw"))
    assert len({io.offset for io in blob.inputs}) == 2
    program = Program()
    method = program.forward
    method.inputs, method.outputs = (
        [method.tensor("int8", (1, 4, 8, 8), made.LAST)] for _ in range(2)
    )
    program.delegate(blob.encode(), [*method.inputs * 2, *method.outputs])
    x = np.random.default_rng(6).integers(-128, 128, (1, 8, 8, 4)).astype(np.int8)
    with Simulation(program.encode(), coherence="strict") as simulation:
        made.check(simulation, made.Case(b"", [x], Oracle(model).step([x, x])))


@pytest.mark.parametrize("scale", [0.0005, 0.002])
def test_softmax_of_many_alike_classes(scale):
    """Many alike classes give zeros, as each contribution is less than half a step."""
    case = cortex_m.softmax_of_many(scale)
    with Simulation(case.program, "ethos-u55-128", coherence="strict") as simulation:
        made.check(simulation, case)


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
        made.check(simulation, made.quantised_case(model, program.encode()))


def test_a_data_file_without_the_key_or_damaged_is_refused(raw, small_models):
    program = made.quantised_ends(small_models["small_cnn"], made.external(raw("u55"), "ab" * 32))
    good = data_file({"ab" * 32: raw("u55").weights})
    files = [data_file({"cd" * 32: b"weights"}), b"", b"no such file" * 9, good[:-5000]]
    files += [good[:size] for size in range(0, 400, 7)]
    for file in files:
        with pytest.raises(InputError, match=r"its data is not in the data file"):
            Simulation(program.encode(), data=file)


def test_rows_that_the_npu_pads_are_packed(raw, small_models):
    """Rows that the NPU pads are packed, never written directly to the smaller tensor."""
    model, blob = small_models["small_cnn"], raw("u55")
    (last,) = blob.outputs
    padded = made.moved(blob, outputs=(made.moved(last, shape=(1, 1, 1, 1, 1, 16)),))
    program = made.quantised_ends(model, padded).encode()
    with Simulation(program, coherence="strict") as simulation:
        made.check(simulation, made.quantised_case(model, program))


def test_pairs_of_int4_are_unpacked(raw, small_models):
    """An output with half its tensor's bytes has two values per byte, the lower one first."""
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
        made.check(simulation, made.Case(b"", case.inputs, [pairs.reshape(1, 20)]))


def test_an_input_of_a_delegate_may_be_a_constant(raw, small_models):
    """A constant input of a delegate is copied, and stays unchanged."""
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
        made.check(simulation, made.Case(program.encode(), [], case.outputs))


LOADS = """
import ethosu, gc

def load(path):
    try:
        ethosu.Model(path).deinit()
        return None
    except ValueError as error:
        return str(error)

def used_after_20(path):
    for _ in range(20):
        load(path)
    gc.collect()
    return gc.mem_alloc()

def kept(path):
    used_after_20(path)
    return -used_after_20(path) + used_after_20(path)
"""


def test_memory_is_given_back_on_every_path(raw, small_models):
    """No memory is lost by a model that ends, or is rejected in measurement or later."""
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
    """Return the flags that the module adds to those of the port."""
    lines = "$(info $(CFLAGS_USERMOD) $(LDFLAGS_USERMOD))\nall:\n\t@true\n"
    return set(sharing.ask_module(lines, *options).split())


def test_programs_change_no_flag_of_the_port():
    with_programs, without = flags(), flags("ETHOSU_WITHOUT=pte")
    assert with_programs < without and without - with_programs == {"-DETHOSU_PTE=0"}
