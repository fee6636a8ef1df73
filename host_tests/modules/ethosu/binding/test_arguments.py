# SPDX-License-Identifier: MIT
"""Any invalid argument gives one clear error, without partial effects, and the NPU works."""

import re

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import firmware_image, found
from host_tests.kit.board_models import raised

BUSY, CANCELLED, NO_NPU, RELEASED = "OSError 16 ", "OSError 125 ", "OSError 19 ", "OSError 1 "
TOO_LARGE = "OverflowError "  # MicroPython's error for an int larger than the machine's

_FILE = "f = bytearray(open('/model.tflite', 'rb').read())\n"

# Code to run, and the start of the exception that it raises, or "nothing".
TABLES = {
    "Model": [
        ("ethosu.Model()", "TypeError 'source' argument required"),
        ("ethosu.Model(None)", "TypeError model is of type NoneType, expected a path or"),
        ("ethosu.Model(5)", "TypeError model is of type int, expected a path or a buffer"),
        ("ethosu.Model([])", "TypeError model is of type list"),
        ("ethosu.Model('/nothing')", "OSError 2 '/nothing' cannot be opened"),
        ("ethosu.Model('')", "OSError "),
        ("ethosu.Model('/')", "OSError "),
        ("ethosu.Model(b'')", "ValueError not a .tflite file: 0 bytes"),
        ("ethosu.Model(b'this is no model at all')", "ValueError not a .tflite file: 23 bytes"),
        ("ethosu.Model(b'TFL3' * 9)", "ValueError file is malformed or truncated at byte 0 of 36"),
        (_FILE + "ethosu.Model(f[:len(f) // 2])", "ValueError file is malformed or truncated at"),
        ("ethosu.Model('/model.tflite', 5)", "TypeError extra positional"),
        ("ethosu.Model('/model.tflite', other=5)", "TypeError extra keyword"),
        ("ethosu.Model('/model.tflite', npu=-1)", NO_NPU),
        ("ethosu.Model('/model.tflite', npu=99)", NO_NPU),
        ("ethosu.Model('/model.tflite', npu=1 << 70)", TOO_LARGE),
        ("ethosu.Model('/model.tflite', npu=2.5)", "TypeError "),
        ("ethosu.Model('/model.tflite', npu='')", NO_NPU),
        ("ethosu.Model('/model.tflite', npu='x' * 5000)", NO_NPU),
        ("ethosu.Model('/model.tflite', npu=m)", "TypeError "),
        ("ethosu.Model('/model.tflite', arena=5)", "TypeError arena is of type int"),
        ("ethosu.Model('/model.tflite', arena=bytes(9999))", "TypeError arena is of type bytes"),
        ("ethosu.Model('/model.tflite', arena=bytearray(0))", "ValueError arena has 0 bytes"),
        ("ethosu.Model('/model.tflite', arena=bytearray(16))",
         "ValueError arena has 16 bytes, the model needs "),
        (_FILE + "ethosu.Model(f, arena=f)", "OSError 14 arena at 0x"),
        (_FILE + "f += bytes(9999)\nethosu.Model(memoryview(f)[:-9999], arena=f)", "OSError 14 "),
        (_FILE + "f += bytes(9999)\nethosu.Model(f, arena=memoryview(f)[4096:])", "OSError 14 "),
        ("ethosu.Model('/model.tflite', timeout_ms=-2)",
         "ValueError timeout_ms is -2, expected milliseconds or -1"),
        ("ethosu.Model('/model.tflite', timeout_ms='1')", "TypeError "),
        ("ethosu.Model('/model.tflite', timeout_ms=1 << 70)", TOO_LARGE),
        ("ethosu.Model('/model.tflite', postprocess=5).predict([x])", "TypeError 'int' object is"),
        ("with ethosu.Model('/model.tflite') as k: pass\nk.predict([x])",
         "ValueError this model was closed by deinit()"),
        ("m.nonsense", "AttributeError "),
        ("m.inputs = 5", "AttributeError "),
        ("del m.npu", "AttributeError "),
        ("m.reset(5)", "TypeError "),
        ("m.metadata(5)", "TypeError "),
        ("assert m.metadata('x' * 9999) is m.metadata('') is None", "nothing"),
        ("m.selftest()", "ValueError model has no self-test; run: ethosu compile"),
        ("m[0]", "TypeError "),
        ("m()", "TypeError "),
        ("m._step()", CANCELLED),
        ("ethosu.Model.predict(5, [x])", "TypeError argument should be a 'Model'"),
        ("ethosu.Model.__del__('x')", "TypeError argument should be a 'Model'"),
    ],
    "inputs and outputs": [
        ("m.predict()", "TypeError 'inputs' argument required"),
        ("m.predict(5)", "TypeError "),
        ("m.predict(x)", "TypeError expected a list of buffers, [x], found one of type array"),
        ("m.predict([])", "ValueError 0 inputs given"),
        ("m.predict([x, x])", "ValueError 2 inputs given"),
        ("m.predict([None])", "TypeError input 0 is of type NoneType, expected a buffer"),
        ("m.predict([{}])", "TypeError input 0 is of type dict"),
        ("m.predict([bytearray(3)])", "ValueError input 0 has 3 bytes, expected 768 (int8)"),
        ("m.predict(['abc'])", "TypeError input 0 is of type str, expected a buffer, numbers or a"),
        ("m.predict({'0': x})", "TypeError expected a list of buffers, [x], found one of type di"),
        ("m.predict('abc')", "TypeError expected a list of buffers, [x], found one of type str"),
        ("m.predict([bytearray()])", "ValueError input 0 has 0 bytes"),
        ("m.predict([array('h', range(384))])", "TypeError input 0 has typecode 'h', expected 'b'"),
        # Bytes of a camera are rejected: 200 of 255 would become -56.
        ("m.predict([memoryview(bytes(768))])",
         "TypeError input 0 has typecode 'B', expected 'b' (int8), or a bytearray of raw bytes"),
        ("m.predict([array('O', [0] * 192)])", "TypeError input 0 has typecode 'O'"),
        ("m.predict([array('f', [0] * 767)])", "ValueError input 0 has 767 values"),
        ("m.predict([array('d')])", "ValueError input 0 has 0 values"),
        ("m.predict([[0] * 767])", "ValueError input 0 has 767 values"),
        ("m.predict([[0] * 767 + [None]])", "TypeError can't convert NoneType to float"),
        ("m.predict([[0] * 767 + [1j]])", "TypeError can't convert complex to float"),
        ("m.predict([[1 << 2000] * 768])", "nothing"),
        ("m.predict([x], 5)", "TypeError 'int' object is"),
        ("m.predict([x], None, True)", "TypeError extra positional"),
        ("m.predict([x], other=1)", "TypeError extra keyword"),
        ("assert bytes(m.predict(inputs=[x])[0]) == golden", "nothing"),
        ("assert bytes(m.predict(iter((x,)))[0]) == golden", "nothing"),
        ("y = m.predict([x])[0]\nz = m.predict([bytearray(768)])[0]\n"
         "assert bytes(z) != golden == bytes(y)", "nothing"),
        ("m.inputs[0].data[:] = x\nm.run_into()\nassert bytes(m.outputs[0].data) == golden",
         "nothing"),
        ("m.run_into(5)", "TypeError "),
        ("m.run_into(None, None, None)", "TypeError extra positional"),
        ("m.run_into(other=1)", "TypeError extra keyword"),
        ("m.run_into([x], 5)", "TypeError "),
        ("m.run_into([x], [])", "ValueError 0 outputs given"),
        ("m.run_into([x], [bytes(10)])", "TypeError output is of type bytes, expected a writable"),
        ("m.run_into([x], [memoryview(bytes(10))])", "TypeError output is of type memoryview"),
        ("m.run_into([x], [bytearray(9)])", "ValueError output 0 has 9 bytes, expected 10"),
        ("m.run_into([x], [bytearray(0)])", "ValueError output 0 has 0 bytes"),
        ("m.run_into([x], [array('h', range(5))])", "TypeError output 0 has typecode 'h'"),
        ("m.run_into([x], [None])", "TypeError output is of type NoneType"),
        ("y = bytearray(10)\nm.run_into(outputs=[y], inputs=[x])\nassert y == golden", "nothing"),
        ("y = m.inputs[0].data[:10]\nm.run_into([x], [y])\nassert y == golden", "nothing"),
        ("m.run_into([m.inputs[0].data], [m.outputs[0].data])", "nothing"),
        ("asyncio.run(m.run(5))", "TypeError "),
        ("asyncio.run(m.run([x], [bytes(10)]))", "TypeError output is of type bytes"),
        ("asyncio.run(m.run([x], [bytearray(9)]))", "ValueError output 0 has 9 bytes"),
        ("asyncio.run(m.run([x], other=5))", "TypeError "),
        ("y = bytearray(10)\nasyncio.run(m.run(outputs=[y], inputs=[x]))\nassert y == golden",
         "nothing"),
    ],
    "Tensor": [
        ("t = m.inputs[0]\nt.quantize()", "TypeError numbers is of type NoneType"),
        ("t.quantize(5)", "TypeError numbers is of type int, expected a buffer or list"),
        ("t.quantize(m)", "TypeError numbers is of type Model"),
        ("t.quantize('a' * 768)", "TypeError numbers is of type str, expected a buffer or list"),
        ("t.dequantize('a' * 768)", "TypeError raw is of type str, expected a buffer or list"),
        ("t.quantize(array('O', [1] * 768))", "TypeError numbers is of type array"),
        ("t.quantize([])", "ValueError numbers: 0 values given, expected 768"),
        ("t.quantize([0] * 767 + ['a'])", "TypeError can't convert str to float"),
        ("t.quantize([0] * 768, 5)", "TypeError into is of type int, expected a writable"),
        ("t.quantize([0] * 768, bytes(768))", "TypeError into is of type bytes"),
        ("t.quantize([0] * 768, bytearray(767))", "ValueError into has 767 bytes, expected 768"),
        ("t.quantize([0] * 768, array('f', [0] * 192))", "TypeError into has typecode 'f', exp"),
        ("y = bytearray(768)\nassert t.quantize(into=y, numbers=[0] * 768) is y", "nothing"),
        ("t.quantize([0] * 768, None, 5)", "TypeError "),
        ("t.dequantize(5)", "TypeError raw is of type int"),
        ("t.dequantize([0] * 767)", "ValueError raw: 767 values given, expected 768"),
        ("t.dequantize(['a'] * 768)", "TypeError can't convert str to float"),
        ("t.dequantize(bytes(768))", "TypeError raw has typecode 'B', expected 'b' (int8), or a"),
        ("t.dequantize(None, bytearray(768))", "TypeError into: expected an array('f')"),
        ("t.dequantize(into=array('f', [0] * 767))", "ValueError into: 767 values given"),
        ("t.dequantize(None, bytes(768))", "TypeError into is of type bytes"),
        ("f = array('d', [0] * 768)\nassert t.dequantize(into=f) is f", "nothing"),
        ("assert len(t.dequantize(None, None)) == 768", "nothing"),
        ("k = ethosu.Model('/model.tflite')\nk.run_into([x])\ny = k.outputs[0].data\nk.deinit()\n"
         "del k\ngc.collect()\nblocks = [bytearray(b'\\xA5' * 4096) for _ in range(100)]\n"
         "del blocks\nassert bytes(y) == golden", "nothing"),
        ("t.shape = 5", "AttributeError "),
        ("ethosu.Tensor(m, 0)", "TypeError can't create 'Tensor' instances"),
        ("ethosu.Tensor.quantize(m, [1])", "TypeError argument should be a 'Tensor'"),
    ],
    "buffer, reserve, npus": [
        ("ethosu.buffer()", "TypeError "),
        ("ethosu.buffer('a')", "TypeError "),
        ("ethosu.buffer(-1)", "ValueError size is -1, expected 0 or more"),
        ("ethosu.buffer(1 << 30)", "MemoryError the buffer needs 1073741824 bytes, the heap has "),
        ("ethosu.buffer((1 << 31) - 1)", "MemoryError "),
        ("ethosu.buffer(1 << 70)", TOO_LARGE),
        ("assert len(ethosu.buffer(0)) == 0", "nothing"),
        ("ethosu.npus(5)", "TypeError "),
        ("ethosu.reserve(5)", "TypeError "),
        ("ethosu.reserve(npu=7)", NO_NPU),
        ("ethosu.reserve(npu='ethos-u55-1')", NO_NPU),
        ("ethosu.reserve(npu=m)", "TypeError "),
        ("ethosu.reserve(timeout_ms=-2)", "ValueError timeout_ms is -2"),
        ("ethosu.reserve(timeout_ms='a')", "TypeError "),
        ("ethosu.reserve(timeout_ms=1 << 70)", TOO_LARGE),
        ("ethosu.NPU()", "TypeError can't create 'NPU' instances"),
        ("ethosu.PMU()", "TypeError can't create 'PMU' instances"),
    ],
}  # fmt: skip

# These run on a reserved NPU `n`; `payload` does nothing.
ON_AN_NPU = [
    ("n.invoke()", "TypeError 'payload' argument required"),
    ("n.invoke(payload)", "TypeError 'bases' argument required"),
    ("n.invoke(5, [])", "TypeError payload is of type int, expected a buffer"),
    ("n.invoke(b'', [])", "ValueError payload is 0 bytes long"),
    ("n.invoke(payload[:-1], [])", "ValueError payload is 19 bytes long, expected a multiple of 4"),
    ("n.invoke(memoryview(b'?' + payload)[1:], [])", "nothing"),  # the module aligns its copy
    ("n.invoke(bytes(16), [])", "ValueError payload begins with "),
    ("n.invoke(payload, None)", "TypeError "),
    ("n.invoke(payload, 5)", "TypeError "),
    ("n.invoke(payload, [5])", "TypeError base is of type int"),
    ("n.invoke(payload, [None] * 9)", "ValueError 9 bases given, expected at most 8"),
    ("n.invoke(payload, (None for _ in range(8)))", "nothing"),
    ("n.invoke(payload, [b'', b'', b''])", "nothing"),
    ("n.invoke(payload, [None, memoryview(bytearray(64))[1:]])", "ValueError base pointer 1 is at"),
    ("s = ethosu.buffer(256)\nn.invoke(payload, [s, s, s, s, s[16:], s, None, s])", "nothing"),
    ("n.invoke(payload, [], timeout_ms=-2)", "ValueError timeout_ms is -2"),
    ("n.invoke(payload, [], timeout_ms='a')", "TypeError "),
    ("n.invoke(payload, [], timeout_ms=1 << 70)", TOO_LARGE),
    ("n.invoke(payload, [], callback=print)", "TypeError extra keyword"),
    ("n.invoke_async(payload, [], callback=5)", "TypeError callback must be callable"),
    ("n.wait()", "OSError 22 no inference was started"),
    ("n.wait(-5)", "ValueError timeout_ms is -5"),
    ("n.wait('a')", "TypeError "),
    ("n.pmu(-1)", "ValueError this NPU has no PMU event 0xffffffff"),
    ("n.pmu(1 << 16)", "ValueError this NPU has no PMU event 0x10000"),
    ("n.pmu(1 << 40)", TOO_LARGE),
    ("n.pmu('a')", "TypeError "),
    ("n.pmu(*[17] * 50)", "ValueError 50 events given, the NPU counts {counters}"),
    ("p = n.pmu(17)\np[1]", "IndexError "),
    ("p['a']", "TypeError "),
    ("p[0] = 5", "TypeError "),
    ("p.cycles = 5", "AttributeError "),
    ("p.__exit__(None, None, None)", "nothing"),
    ("k, l = (ethosu.Model('/model.tflite', npu=n) for _ in range(2))\n"
     "assert bytes(k.predict([x])[0]) == bytes(l.predict([x])[0]) == golden", "nothing"),
    ("m.predict([x])", BUSY + "the NPU is reserved"),
    ("ethosu.reserve(npu=m.npu, timeout_ms=0)", BUSY + "the NPU is reserved"),
    ("ethosu.reserve(npu=m.npu, timeout_ms=20)", "OSError 110 no NPU became free within 20 ms"),
    ("ethosu.NPU.release(m)", "TypeError argument should be a 'NPU'"),
]  # fmt: skip

# These use a released NPU `n` and its model `k`, and a closed model `c` with its tensor `t`.
ON_WHAT_IS_GONE = [
    *((f"n.{call}", RELEASED + "this NPU was released") for call in (
        "invoke(payload, [])", "invoke_async(payload, [])", "wait()", "done()", "cancel()",
        "info()", "pmu()", "npu")),
    ("ethosu.Model('/model.tflite', npu=n)", RELEASED),
    ("asyncio.run(n.run(payload, []))", RELEASED),
    ("k.run_into()", RELEASED),
    ("k.predict([x])", RELEASED),
    ("asyncio.run(k.run([x]))", RELEASED),
    ("n.release()\nwith n: pass", "nothing"),
    *((f"c.{call}", "ValueError this model was closed by deinit()") for call in (
        "predict([x])", "run_into()", "reset()", "cancel()", "info()", "metadata('a')",
        "selftest()", "inputs", "tensors", "input_shape", "ram", "_step()", "_fetch()")),
    ("asyncio.run(c.run([x]))", "ValueError this model was closed by deinit()"),
    ("t.quantize([0] * 768)", "ValueError this model was closed by deinit()"),
    ("t.dequantize()", "ValueError this model was closed by deinit()"),
    ("t.shape", "ValueError this model was closed by deinit()"),
    ("assert len(bytes(t.data)) == 768", "nothing"),
    ("str((c, t, n))", "nothing"),
    ("c.deinit()\nwith c: pass", "nothing"),
]  # fmt: skip

# Calls that call user code, which misbehaves.
CALLED = {
    "numbers that run Python": (
        "class Number:\n    def __float__(self):\n        row.clear()\n        return 1.0\n"
        "row = [Number()] + [0.5] * 767\nm.predict([row])",
        "TypeError can't convert Number to float",
    ),
    "a sequence that closes the model": (
        "class Row:\n    def __iter__(self):\n        k.deinit()\n        return iter([x])\n"
        "k = ethosu.Model('/model.tflite')\nk.predict(Row())",
        "ValueError this model was closed",
    ),
    "an input that closes the model": (
        "def fill(*a): k.deinit()\nk = ethosu.Model('/model.tflite')\nk.predict([fill])",
        "ValueError this model was closed",
    ),
    "an input that empties its list": (
        "def fill(memory, *a):\n    row.clear()\n    gc.collect()\n    memory[:] = x\n"
        "row = [fill]\nassert bytes(m.predict(row)[0]) == golden",
        "nothing",
    ),
    "an input that empties the list of outputs": (
        "def fill(memory, *a): row.clear()\nrow = [bytearray(10)]\nm.run_into([fill], row)",
        "ValueError 0 outputs given",
    ),
    "an input that leaves the model at work": (
        "def fill(*a): k._start([x])\nk = ethosu.Model('/model.tflite')\n"
        "try: k.predict([fill])\nfinally: k.cancel()",
        BUSY + "this model is running",
    ),
    "an input for ever": (
        "def fill(*a): m.predict([fill])\nm.predict([fill])", "RuntimeError maximum recursion"
    ),
    "a callback for ever": (
        "def again(model, ins, outs): return model.predict(ins, again)\nm.predict([x], again)",
        "RuntimeError maximum recursion",
    ),
    "a callback that closes the model": (
        "k = ethosu.Model('/model.tflite')\nk.predict([x], lambda model, *a: model.deinit())\n"
        "k.info()",
        "ValueError this model was closed",
    ),
    "an input that writes too much": (
        "def fill(memory, *a): memory[768] = 1\nm.predict([fill])", "IndexError "
    ),
    "a class that begins without its base": (
        "class Mine(ethosu.Model):\n    def __init__(self): self.predict([x])\nMine()",
        "AttributeError ",
    ),
    "a class that loads twice": (
        "class Mine(ethosu.Model):\n    def __init__(self, path):\n"
        "        super().__init__(path)\n        super().__init__(path)\n"
        "assert bytes(Mine('/model.tflite').predict([x])[0]) == golden",
        "nothing",
    ),
}  # fmt: skip

_SETUP = (
    "import asyncio, struct\n"
    "payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)\n"
)


def check(board, rows):
    """Run each row; afterwards the NPU must still give right results."""
    wrong = []
    for code, expected in rows:
        found = raised(board, code)
        if not found.startswith(expected):
            wrong.append((code, found, expected))
    assert not wrong
    assert board.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize("table", TABLES)
def test_arguments(api, table):
    api.exec(_SETUP)
    check(api, TABLES[table])


def test_arguments_on_an_npu(api, board_npu):
    counters = 8 if "u85" in board_npu else 4
    rows = [(code, found.format(counters=counters)) for code, found in ON_AN_NPU]
    api.exec(_SETUP + "n = ethosu.reserve(npu=m.npu)")
    check(api, [*rows, ("n.release()", "nothing")])


def test_closed_objects_raise(api):
    api.exec(
        _SETUP
        + "n = ethosu.reserve(npu=m.npu)\nk = ethosu.Model('/model.tflite', npu=n)\nn.release()\n"
        "c = ethosu.Model('/model.tflite')\nt = c.inputs[0]\nc.deinit()\n"
    )
    check(api, ON_WHAT_IS_GONE)


@pytest.mark.parametrize("case", CALLED)
def test_code_of_the_caller(api, case):
    api.exec(_SETUP)
    check(api, [CALLED[case]])


def test_a_model_for_another_npu_or_for_none(api, board_npu, compiled, small_models):
    npus = api.eval("ethosu.npus()")
    other = next(npu for npu in ("ethos-u55-256", "ethos-u55-64") if npu not in npus)
    source = small_models["small_cnn"]
    api.write_file("/other.tflite", compiled(source, other).read_bytes())
    api.write_file("/raw.tflite", source.read_bytes())
    several = f"; NPUs of this board: {', '.join(npus)}" if len(npus) > 1 else ""
    hint = f"; run: ethosu compile MODEL.tflite --npu {board_npu}"
    refused = f"ValueError model was compiled for {other}, the NPU is {board_npu}{hint}{several}"
    assert raised(api, f"ethosu.Model('/other.tflite', npu={board_npu!r})") == refused
    error = raised(api, "ethosu.Model('/other.tflite')")
    assert error.startswith(refused.partition("the NPU is")[0]) and error.endswith(several)
    error = raised(api, f"ethosu.Model('/raw.tflite', npu={board_npu!r})")
    assert error.startswith("ValueError model has no ethos-u operator") and error.endswith(hint)


@pytest.mark.parametrize("address", ["0", "UNSEEN", "0xFFFFFF00"])
def test_an_arena_that_the_npu_cannot_access_is_rejected(emulated, address):
    emulated.exec(f"import uctypes\nplace = uctypes.bytearray_at({address}, 99999)")
    check(emulated, [("ethosu.Model('/model.tflite', arena=place)", "OSError 14 arena at 0x")])


# Each argument that the CPU reads or writes, and its name in the message.
_FAR = [
    ("ethosu.Model(far(65536))", "model"),
    ("ethosu.Model('/model.tflite', data=far(64))", "data"),
    ("m.predict([far(len(x))])", "input"),
    ("m.run_into([x], [far(10)])", "output"),
    ("asyncio.run(m.run([far(len(x))]))", "input"),
    ("m.predict([memoryview(far(len(x)))])", "input"),
    ("m.run_into([x], [memoryview(far(10))])", "output"),
    ("m.inputs[0].quantize(far(len(x)))", "numbers"),
    ("m.inputs[0].quantize([1.0] * len(x), far(len(x)))", "into"),
    ("m.outputs[0].dequantize(far(10))", "raw"),
    ("with ethosu.reserve() as n: n.invoke(far(64), [])", "payload"),
    ("ethosu_image.argmax(far(64))", "numbers"),
    ("ethosu_image.above(far(64), 1)", "numbers"),
    ("ethosu_image.Input(far(64), (8, 8))(bytearray(64), (8, 8, 1), 'b')", "pixels"),
    ("ethosu_image.Input(bytes(64), (8, 8))(far(64), (8, 8, 1), 'b')", "memory"),
    ("ethosu_image.Input(bytes(64), (8, 8), table=far(256))", "numbers"),
    ("ethosu_audio.MicroFrontend().process(far(960), array('H', range(400)))", "samples"),
    ("ethosu_audio.Ring(64).write(far(64))", "samples"),
    ("ethosu_audio.Ring(64).readinto(far(64))", "buffer"),
]


@pytest.mark.parametrize("address", ["NPU", "0xFFFFFF00"])
def test_the_cpu_does_not_access_what_is_no_memory_of_the_board(emulated, address):
    """An access would set a device's registers, or fault and reset the board."""
    emulated.exec(_SETUP + "import ethosu_audio, ethosu_image, uctypes")
    emulated.exec(f"def far(size): return uctypes.bytearray_at({address}, size)")
    check(emulated, [(code, f"OSError 14 {name}: ") for code, name in _FAR])


def test_a_model_at_null_is_refused(emulator_only):
    """Most boards have no memory at address 0, so reading the file there would fault."""
    with QemuBoard(Machine(emulated("NUMAKER_M55M1"))) as board:
        board.exec("import ethosu, uctypes")
        found = raised(board, "ethosu.Model(uctypes.bytearray_at(0, 65536))")
    assert found == "OSError 14 model: 65536 bytes at 0x0 are not in a memory of this board"


def test_full_heap(api):
    """With a full heap, calls that need memory raise MemoryError; run_into() needs none."""
    api.exec(
        _SETUP + "rest = None\ndef fill():\n"
        "    global rest\n"
        "    gc.collect()\n"
        "    gc.disable()\n"  # avoids a collection before each MemoryError
        "    for size in (200000, 2000, 100, 16, 0):\n"
        "        try:\n"
        "            while True: rest = (rest, bytearray(size)) if size else (rest,)\n"
        "        except MemoryError: pass\n"
        "    gc.enable()\n"
        "def caught(call):\n"
        "    try: call()\n"
        "    except MemoryError: return 1\n"
        "    return 0\n"
        "calls = (lambda: ethosu.Model('/model.tflite'), lambda: ethosu.buffer(5000),\n"
        "         ethosu.reserve, lambda: m.predict([x]), lambda: asyncio.run(m.run([x])))\n"
        "ins, outs, seen = [x], [bytearray(10)], [0] * 6\n"
        "def go():\n"
        "    for i in range(5):\n"
        "        fill()\n"
        "        seen[i] = caught(calls[i])\n"
        "    fill()\n"
        "    m.run_into(ins, outs)\n"
        "    seen[5] = outs[0] == golden\n"
        "go()\nrest = None\ngc.collect()",
        timeout=100,
    )
    assert api.eval("seen[:3] + seen[5:]") == [1, 1, 1, True]
    check(api, [("ethosu.reserve(npu=m.npu).release()", "nothing")])


# deep(f, up) calls f at a depth that leaves only `up` more calls before the recursion limit.
_DEEP = """
out = set()
def deep(f, up):
    try: r = deep(f, up)
    except RuntimeError: r = 0
    if r == up:
        try: f()
        except RuntimeError as error: out.add(error.args[0])
        except Exception as error: out.add(type(error).__name__)
    return None if r is None or r == up else r + 1
"""


@pytest.mark.parametrize(
    "call",
    [
        "ethosu.Model('/model.tflite')",
        "ethosu.Model(bytearray(f))",
        "ethosu.Model(f[:5000])",
        "m.predict([x])",
        "m.predict([[0.0] * 768], real=True)",
        "asyncio.run(m.run([x]))",
        "ethosu.reserve(npu=m.npu, timeout_ms=10).invoke(payload, [None])",
        "m.info()",
    ],
)
def test_at_the_limit_of_the_stack_there_is_an_exception(emulated, call):
    """A call that needs more stack than is left must not write below it and crash the board."""
    emulated.exec(_SETUP + _FILE + _DEEP + f"for up in range(5): deep(lambda: {call}, up)")
    assert emulated.eval("out <= {'maximum recursion depth exceeded', 'ValueError', 'OSError'}")
    check(emulated, [])


def test_any_number_of_arguments(api):
    """Too many arguments are counted in the error: 68,000 bytes must not overflow the C stack."""
    api.exec(
        _SETUP + "many = [0] * 17000\n"
        # A call looks up each name among all names, and finds names that an earlier call created.
        "named = (lambda **names: names)(**{'k%d' % i: 0 for i in range(8500)})"
    )
    rows = [
        (f"{call}({given})", "TypeError ")
        for call in ("m.run", "ethosu.NPU.run", "m.selftest", "m.predict", "m.run_into",
                     "ethosu.Model", "ethosu.reserve", "m.inputs[0].quantize")
        for given in ("*many", "**named")
    ]  # fmt: skip
    check(api, rows)


@pytest.mark.on_board
@pytest.mark.parametrize("npu", ["ethos-u55-128", "ethos-u85-256"])
def test_a_model_checks_for_the_stack_that_loading_needs(
    emulator_only, repo, npu, compiled, small_models, raw
):
    """Loading changes no word of the painted stack beyond the amount that it checks for.

    An interrupt makes the core push 104 bytes more, possibly at that word.
    """
    source = (repo / "modules/ethosu/binding/model/model_load.c").read_text()
    (asked,) = re.findall(r"#define LOADER_STACK (\d+)", source)
    top = firmware_image.of().symbol("_stack_top")
    files = {
        f"{name}.tflite": compiled(path, npu).read_bytes() for name, path in small_models.items()
    }
    for each in found.modules("program_rows"):
        files |= each.loaded(small_models["small_cnn"], raw(npu))
    with QemuBoard(Machine(emulated(npu=npu), romfs=romfs.build(files))) as board:
        board.exec(
            "import ethosu, micropython, os, uctypes\n"
            f"stack = uctypes.bytearray_at({top} - 24576, 24576)\n"
            "def taken(call):\n"
            "    used = micropython.stack_use()\n"
            "    size = len(stack) - used - 1024\n"
            "    paint = bytearray(b'\\xA5' * size)\n"
            "    stack[:size] = paint\n"
            "    try: call()\n"
            "    except ValueError: pass\n"
            "    after = bytes(stack[:size])\n"
            "    return len(stack) - used - next(i for i in range(size) if after[i] != 0xA5)\n"
            "files = [open('/rom/' + name, 'rb').read() for name in os.listdir('/rom')]\n"
            "needs = [taken(lambda: ethosu.Model(bytes(data[:size])))\n"
            "         for data in files for size in (len(data), 5000, 4)]\n"
            "needs += [taken(lambda: ethosu.Model('/rom/' + name)) for name in os.listdir('/rom')\n"
            "          if name == 'apart.pte']\n"
        )
        needs = board.eval("needs")
    assert max(needs) + 104 <= int(asked), needs
    assert max(needs) > 2000  # else the painted words were not found
