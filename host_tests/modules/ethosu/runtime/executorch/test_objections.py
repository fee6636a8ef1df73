# SPDX-License-Identifier: MIT
"""Review comments on the delegate's runtime in pytorch/executorch's pull request 17367.

The tests have the numbers of the comments.
"""

import numpy as np
import pytest
from ethosu_tools import romfs
from ethosu_tools.board import QemuBoard
from ethosu_tools.errors import InputError
from ethosu_tools.qemu import Machine
from ethosu_tools.sim import Simulation

from host_tests.kit import sharing

from . import damaged, made


def test_1_an_output_with_more_bytes_than_the_npu_writes_is_refused(raw):
    """Copying a chunk of the destination that is larger than the source would over-read."""
    blob = raw("u55")
    short = made.moved(blob.outputs[0], shape=(1, 1, 1, 1, 1, 3))
    data = damaged._file(made.moved(blob, outputs=(short,)).encode())
    with pytest.raises(InputError, match=r"instruction 0 \(delegate\): "):
        Simulation(data)


def test_2_rows_that_the_npu_pads_are_packed(raw, small_models):
    """An output whose size differs from its tensor's is never written directly to it."""
    model, blob = small_models["small_cnn"], raw("u55")
    (last,) = blob.outputs
    padded = made.moved(blob, outputs=(made.moved(last, shape=(1, 1, 1, 1, 1, 16)),))
    program = made.quantised_ends(model, padded).encode()
    with Simulation(program, coherence="strict") as simulation:
        made.check(simulation, made.quantised_case(model, program))


def test_2_pairs_of_int4_are_unpacked(raw, small_models):
    """If an output has half its tensor's bytes, each byte holds two values, the lower one first."""
    model, blob = small_models["small_cnn"], raw("u55")
    program = damaged.Program()
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


def test_3_a_buffer_of_no_bytes_is_ignored(raw, small_models):
    """Scratch of 0 bytes is a base without memory, not an empty block."""
    assert raw("u85 separate").scratch_size == 0
    model = small_models["small_cnn"]
    program = made.quantised_ends(model, raw("u85 separate")).encode()
    with Simulation(program) as simulation:
        made.check(simulation, made.quantised_case(model, program))


def test_4_inputs_are_const(raw, small_models):
    """A delegate's input may be a constant of the file: it is copied and stays unchanged."""
    model = small_models["small_cnn"]
    case = made.quantised_case(model, b"")
    program = damaged.Program()
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

def kept(path):
    load(path)
    gc.collect()
    before = gc.mem_alloc()
    for _ in range(20):
        load(path)
    gc.collect()
    return gc.mem_alloc() - before
"""


def test_5_memory_is_freed_on_every_path(raw, small_models):
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


def test_6_programs_change_no_flag_of_the_port():
    with_programs, without = flags(), flags("ETHOSU_WITHOUT=pte")
    assert with_programs < without and without - with_programs == {"-DETHOSU_PTE=0"}


@pytest.mark.parametrize("name", ["u55", "u55 COP2"])
def test_7_both_formats_of_commands_are_accepted(raw, small_models, name):
    model, blob = small_models["small_cnn"], raw(name)
    assert blob.commands[:4] == (b"COP2" if name.endswith("COP2") else b"COP1")
    program = made.quantised_ends(model, blob).encode()
    with Simulation(program) as simulation:
        made.check(simulation, made.quantised_case(model, program))
