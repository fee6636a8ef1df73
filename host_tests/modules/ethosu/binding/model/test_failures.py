# SPDX-License-Identifier: MIT
"""A failed inference reports what failed and where: status, command and operator name."""

import struct

import pytest
from ethosu_tools.base.errors import InputError
from ethosu_tools.cli import main
from ethosu_tools.model import debug_table
from ethosu_tools.model.tflite.metadata import get, put

from host_tests.kit.board_models import MODEL, raised
from host_tests.kit.models.mixed_models import MODELS
from host_tests.modules.ethosu.driver.streams import commands, npu_calls

OPERATIONS = {0x002, 0x003, 0x005, 0x006, 0x007}  # CONV, DEPTHWISE, POOL, ELEMENTWISE, RESIZE
DEPTHWISE, POOL, ELEMENTWISE, DMA_START = 0x003, 0x005, 0x006, 0x010
BASES = {0x4000, 0x4010}  # IFM_BASE0, OFM_BASE0; Vela writes only the one that changes
NOWHERE = 0x7FFFFFF0  # outside all regions


def aimed_at_nothing(model: bytes, code: int, number: int = 0) -> tuple[bytes, int]:
    """Aim the first operation of this kind at unmapped memory; returns model and offset."""
    stream = npu_calls(model)[number].stream
    start = model.index(stream)
    address = 0
    for command in commands(stream):
        if command.code in BASES:
            address = start + command.offset + 4
        elif command.code == code:
            break
    damaged = bytearray(model)
    struct.pack_into("<I", damaged, address, NOWHERE)
    return bytes(damaged), command.offset


def compile_to(path, source, npu, *options):
    words = ["compile", str(source), "--npu", npu, "-o", str(path), "--quiet", *options]
    assert main(words) == 0
    return path.read_bytes()


@pytest.fixture(scope="module")
def model(tmp_path_factory, small_models, board_npu):
    return compile_to(
        tmp_path_factory.mktemp("named") / "m.tflite", small_models["small_cnn"], board_npu
    )


def failure(board, model: bytes, how: str = "m.run_into()") -> str:
    board.write_file(MODEL, model)
    board.exec(f"import asyncio, ethosu\nm = ethosu.Model({MODEL!r}, verify=False)")
    return raised(board, how)


@pytest.mark.parametrize(
    ("code", "operator"),
    [
        (DEPTHWISE, "1 DEPTHWISE_CONV_2D depthwise"),
        (ELEMENTWISE, "3 ADD add"),
        (POOL, "4 MAX_POOL_2D max_pool_2d"),
    ],
)
@pytest.mark.parametrize("how", ["m.run_into()", "asyncio.run(m.run())"])
def test_failed_inference_names_the_operator(board, model, code, operator, how):
    damaged, place = aimed_at_nothing(model, code)
    error = failure(board, damaged, how)
    assert error.startswith(
        f"OSError 5 NPU stopped at byte {place} of the command stream: bus error"
    )
    assert "STATUS 0x" in error
    assert error.endswith(f"; operator {operator}")


def test_the_second_npu_operator_has_its_own_names(board, board_npu, small_models, tmp_path):
    """With ADD on the CPU there are two command streams: an error in the second one must not get a
    name of the first."""
    model = compile_to(
        tmp_path / "two.tflite", small_models["small_cnn"], board_npu, "--vela=--ignore-ops ADD"
    )
    damaged, _ = aimed_at_nothing(model, POOL, 1)
    assert failure(board, damaged).endswith("; operator 4 MAX_POOL_2D max_pool_2d")
    damaged, _ = aimed_at_nothing(model, DEPTHWISE, 0)
    assert failure(board, damaged).endswith("; operator 1 DEPTHWISE_CONV_2D depthwise")


def test_model_without_a_table_fails_without_a_name(board, board_npu, small_models, tmp_path):
    model = compile_to(tmp_path / "bare.tflite", small_models["small_cnn"], board_npu, "--strip")
    assert get(model, debug_table.NAME) is None
    error = failure(board, aimed_at_nothing(model, ELEMENTWISE)[0])
    assert error.startswith("OSError 5 NPU stopped at byte ")
    assert "operator" not in error


def test_late_inference_names_the_operator(emulated, model):
    emulated.exec("emulator.fault('hang')")
    error = failure(emulated, model, "ethosu.Model('/model.tflite', timeout_ms=20).run_into()")
    assert error.startswith("OSError 110 inference took longer than 20 ms: running")
    assert "; operator 0 CONV_2D conv" in error


@pytest.mark.parametrize(
    "damage",
    [
        lambda table: b"XDBG" + table[4:],
        lambda table: table[:4] + struct.pack("<I", 99) + table[8:],
        lambda table: table[:8] + b"\xff" * 4 + b"\xff" * (len(table) - 12),
        lambda table: table[:12],
        lambda table: table[:5],
        lambda table: b"\0",
        lambda table: table[:12] + (b"\0" * 4 + b"\xff" * 4 + b"\xf0" * 4) * 5,
    ],
)
def test_a_damaged_table_only_loses_the_name(board, model, damage):
    table = get(model, debug_table.NAME)
    damaged, place = aimed_at_nothing(model, ELEMENTWISE)
    error = failure(board, put(damaged, {debug_table.NAME: damage(table)}))
    assert error.startswith(f"OSError 5 NPU stopped at byte {place} ")
    assert "operator" not in error


def test_names_cannot_control_the_terminal(board, model):
    entries = debug_table.parse(get(model, debug_table.NAME))
    rows = [debug_table.Entry(one.npu_operator, one.end, "\x1b[2J" + "x" * 300) for one in entries]
    damaged, _ = aimed_at_nothing(model, ELEMENTWISE)
    error = failure(board, put(damaged, {debug_table.NAME: debug_table.pack(rows)}))
    assert "; operator ?[2Jxxxx" in error
    assert len(error) < 220


@pytest.mark.parametrize("npu", ["ethos-u55-32", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_table_covers_every_operation(small_models, compiled, name, npu):
    """The table has no gap: each entry ends at an operation, the last at the last operation."""
    model = compiled(small_models[name], npu).read_bytes()
    entries = debug_table.parse(get(model, debug_table.NAME))
    stream = npu_calls(model)[0].stream
    places = [command.offset for command in commands(stream) if command.code in OPERATIONS]
    ends = [entry.end for entry in entries]
    assert ends == sorted(set(ends)) and set(ends) <= set(places) and ends[-1] == places[-1]
    assert {entry.npu_operator for entry in entries} == {0}


def test_inspect_shows_the_table(model, tmp_path, capsys):
    path = tmp_path / "m.tflite"
    path.write_bytes(model)
    assert main(["inspect", str(path)]) == 0
    out = capsys.readouterr().out
    assert "operator   1 DEPTHWISE_CONV_2D depthwise  (up to byte " in out
    assert " of ethos-u 0's commands)" in out
    path.write_bytes(put(model, {debug_table.NAME: b"nonsense"}))
    assert main(["inspect", str(path)]) == 3


def test_table_of_another_kind_is_refused():
    with pytest.raises(InputError, match="version 2, expected 1"):
        debug_table.parse(debug_table.MARK + struct.pack("<2I", 2, 0))


def attention(folder, npu, *on_cpu: str) -> bytes:
    """Make a model that looks words up by number (GATHER), with these operators on the CPU."""
    source = folder / "attention.tflite"
    source.write_bytes(MODELS["attention"].make())
    return compile_to(folder / "m.tflite", source, npu, f"--vela=--ignore-ops {','.join(on_cpu)}")


@pytest.mark.parametrize("on_cpu", [True, False], ids=["on the CPU", "as compiled"])
def test_index_outside_of_its_tensor_is_an_error(board, board_npu, tmp_path, on_cpu):
    """An index out of range is an error that names the operator; an Ethos-U85 stops at it."""
    model = attention(
        tmp_path, board_npu, "BATCH_MATMUL", "SOFTMAX", *(["GATHER"] if on_cpu else [])
    )
    board.write_file(MODEL, model)
    board.exec(
        f"import asyncio, ethosu\nm = ethosu.Model({MODEL!r})\n"
        "words = bytearray(b'\\xff' * len(bytes(m.inputs[0].data)))\n"
        "right = bytes(m.predict([bytearray(len(words))])[0])"
    )
    for call in ("m.predict([words])", "asyncio.run(m.run([words]))"):
        error = raised(board, call)
        if on_cpu or "u85" not in board_npu:
            assert error == "ValueError an operator's index is outside its tensor"
        else:
            assert error.startswith("OSError 5 NPU stopped at byte ")
            assert error.endswith("; operator 0 GATHER embedding")
        assert board.eval("bytes(m.predict([bytearray(len(words))])[0]) == right")
    # For integers without a scale, NaN becomes 0, not the lowest number, which is invalid, too.
    board.exec("m.inputs[0].quantize([float('nan')] * (len(words) // 4), words)")
    assert board.eval("set(words)") == {0}


def test_table_names_a_look_up_by_the_npu(tmp_path):
    """The table names a look-up, for which Vela's database has no offset in the stream."""
    model = attention(tmp_path, "ethos-u85-256", "BATCH_MATMUL", "SOFTMAX")
    first, second, *_ = debug_table.parse(get(model, debug_table.NAME))
    stream = npu_calls(model)[0].stream
    copy = next(command.offset for command in commands(stream) if command.code == DMA_START)
    assert (first.end, first.name) == (copy, "0 GATHER embedding")
    assert second.name.endswith(" CONV_2D conv")
