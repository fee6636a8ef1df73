# SPDX-License-Identifier: MIT
"""Programs that cause much work, that change while they are used, or leave outputs unwritten."""

import numpy as np
import pytest
from ethosu_tools.sim.simulation import Simulation

from host_tests.modules.ethosu.runtime.test_work import check_loading

from . import cortex_m, damaged, hostile, moves
from .program_writer import Program


@pytest.mark.parametrize("name", hostile.MUCH_WORK)
def test_loading_is_linear_in_the_bytes_of_the_file(counted, name):
    check_loading(counted, hostile.MUCH_WORK[name]())


@pytest.mark.parametrize("name", hostile.MUCH_WORK)
def test_a_file_that_needs_much_work_is_harmless_in_32_bits(damage, name):
    file = hostile.MUCH_WORK[name]()
    assert damage("load", file, 32) == damage("load", file)


# See the runtime's test_bad_files.py.
CHANGING = {"transpose_conv2d", "state", "FreeCall"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in CHANGING else pytest.mark.slow)
        for name in [*damaged.SOUND, *cortex_m.OPERATORS, "state"]
    ],
)
def test_a_file_that_changes_while_it_is_used_stays_in_its_memory(damage, raw, name):
    if name in damaged.SOUND:
        content = damaged.SOUND[name](raw("u55"))
    else:
        content = moves.delay() if name == "state" else cortex_m.OPERATORS[name](0).program
    assert int(damage("change", content).split()[0]) > 300


def test_ends_of_a_file_that_changes(damage):
    assert int(damage("change", program(written=True)).split()[0]) > 100


def program(*, written: bool) -> bytes:
    """y = x in a type of its own; beside it, an output that is constant, or that nothing writes."""
    made = Program()
    method = made.forward
    method.inputs = [method.tensor("float32", (8,))]
    y = method.tensor("float32", (8,))
    other = (
        method.tensor("float32", (4,), constant=True, data=made.constant(FLOATS))
        if written
        else method.tensor("float32", (4,))
    )
    method.outputs = [other, y]
    arguments = [*method.inputs, method.number(False), method.number(None)]
    method.kernel("dim_order_ops::_to_dim_order_copy", [*arguments, y, y])
    return made.encode()


FLOATS = np.array([1.5, -2, 3, 0.25], np.float32)


@pytest.mark.parametrize("written", [True, False])
def test_outputs_of_programs(damage, written):
    """ExecuTorch returns constants as they are, and leaves other memory undefined; here it is 0."""
    model = program(written=written)
    given = np.arange(8, dtype=np.float32)
    with Simulation(model) as simulation:
        for _ in range(2):
            constant, copied = simulation.step([given])
            assert constant.tolist() == (FLOATS.tolist() if written else [0] * 4)
            assert copied.tolist() == given.tolist()
            simulation.view(simulation.outputs[0])[...] = 9
            if not written:
                simulation.reset()
    for width in (64, 32):
        assert damage.each({"program": model}, width) == {"program": "0 "}
    damage("cut", model)
    damage("set", model)
