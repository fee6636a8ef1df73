# SPDX-License-Identifier: MIT
"""Compares with outputs that board vendors publish, independent of this project and of LiteRT.

Alif's models come compiled, some by releases of Vela up to 3.9. Ambiq's are compiled here, except
one, which is Vela's raw output for the driver alone.
"""

from pathlib import Path

import numpy as np
import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import vela
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile, vela_raw

from host_tests.kit.models.reference_cases import outputs_of

ALIF = ("kws_u55_128", "kws_u55_256", "kws_u85_256")
AMBIQ = ("ad_medium", "kws_micronet_m", "rnnoise")
NPU = "ethos-u85-256"  # the NPU of Ambiq's board
WHERE = ("sim", "qemu")


def check(model: Path | ModelFile, inputs, expected, where: str, npu: str) -> None:
    """Compare all outputs of one inference, in the file's order."""
    graph = ModelFile.of(model).description
    inputs = [each.reshape(end.shape) for each, end in zip(inputs, graph.inputs, strict=True)]
    (found,) = outputs_of(model, [inputs], where, npu=npu)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("name", ALIF)
def test_alifs_keyword_spotting(golden, emulator_only, name, where):
    case = np.load(golden / f"alif/{name}.npz")
    npu = f"ethos-{name.removeprefix('kws_').replace('_', '-')}"
    model = golden / f"alif/{name}.tflite"
    check(model, [case["input"]], [case["expected"]], where, npu)


def ambiq(golden: Path, name: str, end: str) -> list[np.ndarray]:
    paths = sorted(golden.glob(f"ambiq_u85/{name}.{end}*.npy"))
    assert paths
    return [np.load(path) for path in paths]


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("name", AMBIQ)
def test_ambiqs_models(golden, emulator_only, tmp_path, name, where):
    source = ModelFile(golden / f"ambiq_u85/{name}.tflite")
    model = tmp_path / f"{name}.tflite"
    model.write_bytes(vela.compiled(source, NPU).file.data)
    check(model, ambiq(golden, name, "ifm"), ambiq(golden, name, "ofm"), where, NPU)


def test_ambiqs_command_stream_on_a_board(golden, emulator_only):
    """The driver alone runs Vela's raw output, and gives the vendor's results."""
    call = vela_raw.read(golden / "ambiq_u85/kws_micronet_m.vela.npz")
    (given,), (expected,) = (ambiq(golden, "kws_micronet_m", end) for end in ("ifm", "ofm"))
    (start,), (end,) = ([each.offset for each in ends] for ends in (call.inputs, call.outputs))
    with QemuBoard(Machine(emulated(npu=NPU))) as board:
        board.write_file("/payload", call.commands)
        board.write_file("/weights", call.weights)
        board.exec(
            "import ethosu\n"
            "payload = open('/payload', 'rb').read()\n"
            f"weights = ethosu.buffer({len(call.weights)})\n"
            "open('/weights', 'rb').readinto(weights)\n"
            f"scratch, fast = ethosu.buffer({call.scratch_size}), "
            f"ethosu.buffer({call.fast_scratch_size})\n"
            f"scratch[{start}:{start + given.size}] = {given.tobytes()!r}\n"
            "with ethosu.reserve() as npu:\n"
            "    npu.invoke(payload, [weights, scratch, fast])"
        )
        found = board.eval(f"bytes(scratch[{end}:{end + expected.size}])")
    assert found == expected.tobytes()


@pytest.mark.parametrize("where", WHERE)
def test_ambiqs_command_stream_as_a_model(golden, emulator_only, where):
    """`ethosu run` makes a model of Vela's raw output, with the same arguments of the driver."""
    model = vela_raw.find(golden / "ambiq_u85/kws_micronet_m.vela.npz")
    ends = (ambiq(golden, "kws_micronet_m", end) for end in ("ifm", "ofm"))
    check(model, *ends, where, NPU)
