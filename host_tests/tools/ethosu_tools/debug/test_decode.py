# SPDX-License-Identifier: MIT
"""`ethosu decode` finds the layer of an error by its offset in the command stream."""

import io
import json

import pytest
from ethosu_tools.debug import decode
from ethosu_tools.model import arrays, tflite
from ethosu_tools.sim.simulation import Simulation

FAULT = """\
boot\r
*** Fault: HardFault, exception 3, in the main program\r
  cause: bus error at data access\r
  address: 0x90000000\r
  r12 00000000  sp  20001000  lr  01000201  pc  01000101  xpsr 01000000\r
*** The board resets; boot.py and main.py are skipped once.\r
"""


@pytest.fixture
def model(compiled, small_models):
    return compiled(small_models["small_cnn"])


def test_a_byte_of_the_stream_is_a_layer(model, repo):
    operations = []
    with Simulation(model) as simulation:
        simulation.observe(operations.append)
        simulation.step(arrays.random_inputs(simulation.inputs))
    first = operations[0]
    assert first.name == "NPU_OP_CONV"
    said = f"OSError: [Errno 5] NPU stopped at byte {first.offset} of the command stream: "
    (found,) = decode.decode(f"{said}bus error at weight on port M1 (STATUS 0x2804)", model)
    assert found.layer.startswith("0 CONV_2D ") and found.operator.startswith("CONV_2D")
    assert found.cause == "bus error at weights, port M1"
    (found,) = decode.decode(f"E: status=0x00000010, qread={operations[-1].offset}", model)
    assert found.cause == "command parse error" and "SOFTMAX" in found.layer
    known = (repo / "modules/ethosu/driver/include/ethosu_errors.def").read_text()
    assert '"NPU stopped at byte %i of the " STREAM ": %s"' in known, "the driver's own sentence"


def test_the_original_has_no_stream_to_look_in(ethosu, small_models, tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("NPU stopped at byte 100 of the command stream: bus error (STATUS 0x2804)")
    code, out, err = ethosu("decode", small_models["small_cnn"], log)
    assert code == 0 and "bus error" in out
    assert "is not compiled: pass the file that runs on the board to see the layer" in err


def test_messages_of_the_verifier_are_parsed(ethosu, model, tmp_path):
    stream = tflite.parse(model.read_bytes())[0].operators[0].inputs[0]
    content = tflite.parse(model.read_bytes())[0].tensors[stream].content
    data = bytearray(model.read_bytes())
    data[data.index(content) + len(content) - 4] ^= 0xFF  # of the last command, STOP
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(data)
    code, _, err = ethosu("profile", damaged)
    assert code == 3
    (found,) = decode.decode(err, model)
    assert found.message.startswith("command stream")


def test_a_fault_of_the_cpu_has_cause_and_address(ethosu, model, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO(FAULT))
    code, out, _ = ethosu("decode", model, "--json")
    (found,) = json.loads(out)["found"]
    assert code == 0 and found["layer"] is None
    assert found["cause"] == "bus error at data access at 0x90000000, pc 0x01000101"
    cut = (
        "QEMU runs, its log ends: r4  00000004 | r12 6003133f  lr  00000001  pc  010426d2 | *** The"
    )
    (found,) = decode.decode(cut, model)
    assert found.cause == "a CPU fault; the report does not contain a cause, pc 0x010426d2"


def test_a_missing_operator_is_reported(model):
    (found,) = decode.decode("ValueError: operator 0 (SVDF) of subgraph 0: no such type", model)
    assert found.layer is None and "check that this model was run" in found.advice


@pytest.mark.parametrize("words", ["", "NPU stopped at byte 4"])
def test_the_text_is_in_a_file(ethosu, model, words):
    code, _, err = ethosu("decode", model, words)
    assert code == 2 and f"{words!r} is not a file: expected a file with the board's output" in err


def test_unknown_text_is_one_error(ethosu, model, tmp_path):
    path = tmp_path / "log.txt"
    path.write_text("all is well\n")
    code, _, err = ethosu("decode", model, path)
    assert code == 3 and "no known message found (lines read: 1)" in err
