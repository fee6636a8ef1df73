# SPDX-License-Identifier: MIT
"""Computing CPU operators while the NPU runs saves time.

One model runs twice, on an emulated board whose time depends only on instructions and NPU cycles:
planned for the smallest arena, and planned so that CPU operators run during NPU calls.
"""

from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import plan, vela
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.models.mixed_models import MODELS

MEASURE = """\
import emulator, ethosu, time
def measure(path):
    model = ethosu.Model(path)
    model.run_into()
    begin = time.ticks_us(), emulator.instructions()
    for _ in range(200):
        model.run_into()
    end = time.ticks_us(), emulator.instructions()
    return time.ticks_diff(end[0], begin[0]), end[1] - begin[1], model.info()
"""


def test_overlapping_cpu_and_npu_saves_time(tmp_path):
    model, compiled = MODELS["two_branches"], tmp_path / "compiled.tflite"
    source = tmp_path / "two_branches.tflite"
    source.write_bytes(model.make())
    vela.compile_model(source, "ethos-u55-128", compiled, more_options=model.options)
    files = {}
    for name, overlap in (("separate", False), ("concurrent", True)):
        planned = tmp_path / f"{name}.tflite"
        plan.plan_file(compiled, planned, overlap=overlap)
        files[planned.name] = planned.read_bytes()
    machine = Machine(emulated("MPS3_AN547"), repeatable=True, romfs=romfs.build(files))
    with QemuBoard(machine) as board:
        board.exec(MEASURE)
        separate, concurrent = (
            board.eval(f"measure('/rom/{name}')", timeout=300) for name in files
        )
    for microseconds, instructions, info in (separate, concurrent):
        print(
            f"\n200 inferences: {microseconds:,} us, {instructions:,} instructions, "
            f"{info['cpu_steps_overlapped']} of {info['cpu_steps']} operators concurrent, "
            f"arena {info['arena_size']:,}"
        )
    assert separate[2]["cpu_steps_overlapped"] == 0
    assert concurrent[2]["cpu_steps_overlapped"] == 2
    assert concurrent[0] < 0.7 * separate[0]
    assert concurrent[1] < 1.01 * separate[1]
