# SPDX-License-Identifier: MIT
"""The native .mpy module, which a firmware loads, is as exact as the built-in one."""

import subprocess
import sys

import numpy as np
import pytest
from ethosu_tools import boards
from ethosu_tools.base.errors import RemoteError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.compile import vela
from ethosu_tools.link.board import Board, QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import ModelFile
from ethosu_tools.model.tflite.writer import write
from ethosu_tools.sim import selftest

from host_tests.kit import releases, sharing
from host_tests.kit.board_models import MODEL, load, put, raised
from host_tests.kit.models.reference_cases import make_case
from host_tests.modules.ethosu.binding import contract
from host_tests.modules.ethosu.binding.model.test_metadata import rich
from host_tests.modules.ethosu.binding.tensor import values_table
from host_tests.modules.ethosu.natmod.native_board import CALLBACK, address, imports, status
from host_tests.modules.ethosu.runtime.kernels import maker, plan_writer
from host_tests.modules.ethosu.runtime.tflite import test_signatures

# Parts of ethosu.pyi that the native module lacks, and why. All others must be there.
SIZE = "its code and data are taken from the heap"
NO_SCHEDULER = "native code can neither connect an interrupt nor schedule a call"
NO_PROGRAMS = "it loads no ExecuTorch programs"
NOT_OFFERED = {
    "PMU": SIZE,
    **{f"PMU{name}": SIZE for name in (".cycles", ".__enter__", ".__exit__")},
    **{name: SIZE for name in contract.documented(contract.parse().body)[0] if "PMU_" in name},
    "NPU.pmu": SIZE,
    "NPU.invoke_async(callback)": NO_SCHEDULER,
    "Model.tensors": SIZE,
    "Model.signatures": SIZE,
    **{f"Model.{name}": NO_PROGRAMS for name in ("method", "methods", "constants")},
    **{f"Model.__init__({name})": NO_PROGRAMS for name in ("method", "data")},
    **{f"Model.selftest({name})": NO_PROGRAMS for name in ("rtol", "atol")},
    "Tensor.order": NO_PROGRAMS,
}


@pytest.mark.parametrize("part", ["_ethosu.py.mpy", "boards.o", "native.o"])
def test_each_part_can_be_the_first_that_is_built(tmp_path, part):
    """Each part builds first, as can happen with `make -j`."""
    sharing.make("modules/ethosu/natmod", f"BUILD={tmp_path}/new", f"{tmp_path}/new/{part}")


def test_it_does_not_name_the_folder_in_which_it_was_built(repo):
    """MicroPython's linker writes the file's name, as it is given, into it."""
    made = sorted((repo / "build/natmod").glob("*/ethosu.mpy"))
    assert made and [path for path in made if str(repo).encode() in path.read_bytes()] == []


def test_an_executorch_program_is_refused_by_its_name(loaded):
    loaded.write_file("/kws.pte", b"\0\0\0\0ET12" + bytes(992))
    expected = "an ExecuTorch program of 1000 bytes: not supported by this build"
    with pytest.raises(RemoteError, match=expected):
        loaded.exec("ethosu.Model('/kws.pte')")


def test_a_signature_is_loaded(loaded):
    parts = {"see": test_signatures.double(), "hear": test_signatures.double()}
    source = ModelFile(test_signatures.merge(parts), name="two")
    made = vela.compiled(source, loaded.machine.npu)
    loaded.write_file("/two.tflite", made.file.data)
    loaded.exec("second = ethosu.Model('/two.tflite', signature='hear')")
    assert loaded.eval("list(second.predict([bytearray([1, 2, 3, 250])])[0])") == [2, 4, 6, -12]
    with pytest.raises(RemoteError, match='no signature "x"; its signatures are: see, hear'):
        loaded.exec("ethosu.Model('/two.tflite', signature='x')")


def test_it_keeps_the_contract_with_the_listed_exceptions(fresh):
    fresh.exec("n = ethosu.reserve()")
    assert contract.broken(fresh, contract.parse()) == set(NOT_OFFERED)
    fresh.exec("n.release()")


def test_it_behaves_as_the_built_in_module(fresh, api):
    assert contract.answers(fresh, "/m.tflite") == contract.answers(api, MODEL)


@pytest.mark.parametrize("name", ["small_cnn", "small_streaming"])
def test_what_a_model_uses_is_found_by_the_collector(loaded, compiled, small_models, name):
    """A model stays exact although the heap is collected and refilled after each step."""
    case = make_case(small_models[name], 3)
    model = compiled(small_models[name], loaded.machine.npu)
    loaded.write_file("/exact.tflite", model.read_bytes())
    loaded.exec("k = ethosu.Model('/exact.tflite')")
    for (x,), outputs in zip(case.inputs, case.outputs, strict=True):
        loaded.exec("gc.collect()\ngarbage = [bytearray(b'\\xA5' * 2048) for _ in range(50)]")
        found = loaded.eval(f"[bytes(y) for y in k.predict([bytearray({x.tobytes()!r})])]")
        assert found == [y.tobytes() for y in outputs]


def test_deinit_frees_file_and_arena(fresh):
    """deinit() frees file and arena; only one of five models may remain, due to the stack."""
    fresh.exec(
        "five = [ethosu.Model('/m.tflite') for _ in range(5)]\ngc.collect()\n"
        "before = gc.mem_free()\nfor k in five: k.deinit()"
    )
    fresh.exec("gc.collect()\nfreed = gc.mem_free() - before")
    assert fresh.eval("freed > 4 * (five[0].len + m.info()['arena_size'])")


def test_no_arena_holds_commands(fresh):
    """Commands of a copied model are not in its arena, which other models may share."""
    fresh.exec(
        "file = open('/m.tflite', 'rb').read()\ncopy = bytearray(len(file) + 1)\n"
        "copy[1:] = file\narena = ethosu.buffer(20000)\n"
        "k = ethosu.Model(memoryview(copy)[1:], arena=arena)\n"
        "at = file.find(b'COP1') + 32\nstream = file[at : at + 64]"
    )
    assert fresh.eval("bytes(k.predict([x])[0]) == golden")
    assert fresh.eval("(bytes(arena).find(stream), k.info()['copied_bytes'] > 0)") == (-1, True)


def test_an_arena_in_which_a_model_runs_is_refused(fresh):
    fresh.exec(
        "given, other = memoryview(ethosu.buffer(2 * m.ram)), bytes(len(x))\n"
        "a, b = (ethosu.Model('/m.tflite', arena=given) for _ in range(2))\n"
        "a._start([x])\nbefore = bytes(given)"
    )
    for code in (
        "ethosu.Model('/m.tflite', arena=given)",
        "ethosu.Model('/m.tflite', arena=given[m.ram :])",
        "b.predict([other])",
    ):
        assert raised(fresh, code).startswith("OSError 16 arena is in use"), code
    assert fresh.eval("bytes(given) == before")
    fresh.exec("b.deinit()\nwhile not a._step(): pass\ny, = a._fetch()")
    assert fresh.eval("bytes(y) == golden")
    fresh.exec("b = ethosu.Model('/m.tflite', arena=given)")
    assert fresh.eval("[bytes(k.predict([x])[0]) == golden for k in (a, b)]") == [True] * 2


def test_an_arena_that_a_payload_uses_is_refused_until_wait_has_ended_it(fresh):
    """A payload's arena is refused until wait() has ended the job, or it was dropped."""
    fresh.exec(
        CALLBACK + "given, n = ethosu.buffer(m.ram), ethosu.reserve(timeout_ms=0)\n"
        "n.invoke_async(payload, [given])\nwhile not n.done(): pass"
    )
    load = "k = ethosu.Model('/m.tflite', arena=given)"
    assert raised(fresh, load).startswith("OSError 16 arena is in use")
    fresh.exec("n.wait()\n" + load)
    fresh.exec(
        "n.invoke_async(payload, [given])\nwhile not n.done(): pass\nguard, n = n._guard, None"
    )
    assert raised(fresh, "ethosu.reserve(timeout_ms=0)").startswith("OSError 16")
    fresh.exec("others = [bytearray(b'\\xff' * 700) for _ in range(99)]\n" + load)
    fresh.exec("guard = others = None\ngc.collect()")
    assert fresh.eval("bytes(k.predict([x])[0]) == golden")


def test_labels_and_metadata(fresh):
    fresh.write_file("/rich.tflite", rich(fresh.read_file("/m.tflite")))
    fresh.exec("r = ethosu.Model('/rich.tflite')")
    assert fresh.eval("r.labels") == ["cat", "dog", "käse"]
    assert fresh.eval("r.metadata()['name']") == "classifier"
    assert fresh.eval("(m.labels, m.metadata())") == (None, {})


def test_version(fresh, repo):
    text = (repo / "modules/ethosu/ethosu_version.h").read_text()
    assert fresh.eval("ethosu.__version__") in text.split('"')


def test_it_identifies_the_npu(fresh):
    npu = fresh.machine.npu
    assert fresh.eval("ethosu.npus()") == [npu]
    fresh.exec("with ethosu.reserve() as n: info = n.info()")
    assert fresh.eval("(info['config'], info['macs'])") == (npu, int(npu.split("-")[2]))
    assert raised(fresh, "ethosu.Model('/m.tflite', npu='ethos-u55-32')").startswith("OSError 19")


def test_in_place(fresh):
    fresh.exec("m.inputs[0].data[:] = memoryview(m.inputs[0].data)\nm.run_into([x])")
    assert fresh.eval("bytes(m.outputs[0].data) == golden")


def test_real_values_are_those_of_the_built_in_module(fresh, api):
    """Shared implementation, tensor_fill.c: the same raw values and floats."""
    for board in (fresh, api):
        board.exec(
            "import random\nfrom array import array\nrandom.seed(7)\n"
            "real = array('f', (random.random() * 8 - 4 for _ in range(768)))\n"
            "real[:3] = array('f', (1e9, -1e9, float('nan')))\n"
            "raw = bytearray(768)\nassert m.inputs[0].quantize(real, raw) is raw\n"
            "m.inputs[0].quantize(list(real))\nassert bytes(m.inputs[0].data) == raw\n"
            "floats = m.inputs[0].dequantize(raw)\n"
            "doubles = m.inputs[0].dequantize(raw, array('d', (0 for _ in range(768))))\n"
            "assert list(doubles) == list(floats)"
        )
    assert fresh.eval("bytes(raw)") == api.eval("bytes(raw)")
    assert fresh.eval("bytes(floats)") == api.eval("bytes(floats)")


def test_predict_takes_what_the_built_in_module_takes(fresh):
    fresh.exec(
        "from array import array\nm.inputs[0].data[:] = array('b', x)\n"
        "real = m.inputs[0].dequantize()\n"
        "def fill(memory, shape, dtype): memory[:] = array(dtype, x)\n"
    )
    for given in ("x", "array('b', x)", "real", "list(real)", "fill"):
        assert fresh.eval(f"bytes(m.predict([{given}])[0]) == golden"), given
    assert fresh.eval("bytes(m.predict([x], real=True)[0]) == bytes(m.outputs[0].dequantize())")
    assert fresh.eval("m.predict([x], lambda model, ins, outs: (model is m, bytes(outs[0])))"
                      " == (True, golden)")  # fmt: skip
    fresh.exec("k = ethosu.Model('/m.tflite', real=True, postprocess=lambda m, i, o: 5)")
    assert fresh.eval("k.predict([x])") == 5
    fresh.exec("k.postprocess = None")
    assert fresh.eval("bytes(k.predict([x])[0]) == bytes(m.outputs[0].dequantize())")


def test_without_init_the_error_says_how_to_call_it(fresh):
    said = raised(fresh, "ethosu._npus.clear()\nethosu.Model('/m.tflite')")
    fresh.exec(imports().splitlines()[-1])
    wanted = "OSError 19 no NPU yet: call ethosu.init(board=NAME) or ethosu.init(ADDRESS) first"
    assert said == wanted


def test_a_model_prints_as_in_the_built_in_module(fresh, api):
    """A model prints as in the built-in module, except for the arena's address."""
    code = "k = ethosu.Model({!r})\nk.deinit()\nsaid = repr(k), repr(m).split(' at ')[0], repr(m)"
    fresh.exec(code.format("/m.tflite"))
    api.exec(code.format(MODEL))
    *found, whole = fresh.eval("said")
    *wanted, expected = api.eval("said")
    assert found == wanted
    assert whole.partition(", weights ")[2] == expected.partition(", weights ")[2] != ""


def test_wrong_arguments_have_the_same_messages(fresh, api):
    """Wrong arguments give the built-in module's messages for tensors."""
    for board in (fresh, api):
        board.exec("from array import array\nt = m.inputs[0]")
    inputs = ("'hello'", "array('h', range(384))", "bytes(768)", "bytearray(767)", "[0.0] * 767",
              "[None] * 768", "5", "x, x")  # fmt: skip
    for code in (
        *(f"m.predict([{wrong}])" for wrong in inputs),
        *("m.predict({'0': x})", "t.quantize('a' * 768)", "ethosu.Model(5)"),
        *("m.predict(bytearray(768))", "m.run_into([x], [])", "m.run_into([x], [bytearray(5)])"),
        *("t.quantize([0] * 767)", "t.quantize(5)", "t.quantize([0] * 768, bytearray(5))"),
        *("t.dequantize(bytes(768))", "t.dequantize([0] * 5)", "t.dequantize(into=[])"),
        *("t.dequantize(into=array('f', [0]))", "t.dequantize(into=bytearray(768))"),
    ):
        found = raised(fresh, code)
        assert found == raised(api, code) and found.startswith(("ValueError ", "TypeError ")), code
    found = raised(fresh, "ethosu.Model('/nothing.tflite')")
    assert found == raised(api, "ethosu.Model('/nothing.tflite')")
    assert found == "OSError 2 '/nothing.tflite' cannot be opened"


@pytest.mark.parametrize("tensor", values_table.TENSORS)
def test_what_each_type_of_object_means_for_each_type_of_tensor(loaded, tensor):
    """Objects mean the same values as in the built-in module, for a model that copies its input."""
    scale, zero_point = {"int8": (0.5, 3), "uint8": (0.5, 3), "int16": (0.5, 0)}.get(
        tensor, (None, 0)
    )
    graph = maker.Maker(np.random.default_rng(1))
    end = graph.input((1, 6), tensor, scale, zero_point)
    graph.graph.outputs.append(end.index)
    loaded.write_file("/same.tflite", plan_writer.add_plan(write([graph.graph], "same")))
    loaded.exec("m = ethosu.Model('/same.tflite')")
    assert not values_table.differences(loaded, tensor, zero_point)


def test_attributes_are_those_of_the_built_in_module(fresh, api):
    ends = [f"{end}_{what}" for end in ("input", "output")
            for what in ("shape", "dtype", "scale", "zero_point")]  # fmt: skip
    tensor = ("index", "name", "shape", "dtype", "scale", "zero_point", "axis")
    for name in (*ends, *(f"inputs[0].{what}" for what in tensor), "len"):
        assert fresh.eval(f"m.{name}") == api.eval(f"m.{name}")
    assert fresh.eval("m.ram") >= api.eval("m.ram") > 0
    own = ("arena_address", "arena_size", "object_size")  # each module has its own memory
    infos = [
        {key: value for key, value in board.eval("m.info()").items() if key not in own}
        for board in (fresh, api)
    ]
    assert infos[0] == infos[1]
    for board in (fresh, api):
        board.exec("with ethosu.reserve(npu=m.npu) as n: facts = n.info()")
    facts = [board.eval("facts") for board in (fresh, api)]
    assert facts[0].keys() == facts[1].keys()
    assert facts[0]["arch"] == facts[1]["arch"] and facts[0]["config"] == facts[1]["config"]


def test_memory_and_handles(fresh):
    fresh.exec("import uctypes\nspace = ethosu.buffer(70)")
    assert fresh.eval("(len(space), bytes(space), uctypes.addressof(space) % 32)") == (
        70, bytes(70), 0,
    )  # fmt: skip
    assert raised(fresh, "ethosu.buffer(-1)") == "ValueError size is -1, expected 0 or more"
    fresh.exec(
        "with ethosu.reserve(powered=True) as n:\n"
        "    k = ethosu.Model('/m.tflite', npu=n)\n"
        "    y = bytes(k.predict([x])[0])\n"
    )
    assert fresh.eval("y == golden")
    assert raised(fresh, "k.predict([x])").startswith("OSError 1 this NPU was released")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_reserving_again_reads_no_folder(fresh):
    """reserve() does not read files again, and a released handle stays released."""
    fresh.exec(
        "import os\nreal, folders = ethosu.os, []\n"
        "class Counted:\n"
        "    @staticmethod\n"
        "    def ilistdir(folder):\n"
        "        folders.append(folder)\n"
        "        return os.ilistdir(folder)\n"
        "old = ethosu.reserve()\nk = ethosu.Model('/m.tflite', npu=old)\nold.release()\n"
        "ethosu.os = Counted\nn = ethosu.reserve(timeout_ms=0)\nold.release()"
    )
    try:
        assert fresh.eval("(folders, n.npu)") == ([], 0)
        for use in ("old.npu", "old.done()", "old.wait()", "old.info()", "k.predict([x])"):
            assert raised(fresh, use).startswith("OSError 1 this NPU was released"), use
        assert raised(fresh, "ethosu.reserve(timeout_ms=0)").startswith("OSError 16 ")
    finally:
        fresh.exec("ethosu.os = real\nn.release()")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_asyncio(fresh):
    fresh.exec(
        "n = ethosu.Model('/m.tflite')\nturns = 0\n"
        "async def tick():\n"
        "    global turns\n"
        "    while True:\n"
        "        turns += 1\n"
        "        await asyncio.sleep_ms(0)\n"
        "async def go(model):\n"
        "    for _ in range(3): assert bytes((await model.run([x]))[0]) == golden\n"
        "async def main():\n"
        "    asyncio.create_task(tick())\n"
        "    await asyncio.gather(go(m), go(n))\n"
        "    task = asyncio.create_task(m.run([x]))\n"
        "    await asyncio.sleep_ms(0)\n"
        "    task.cancel()\n"
        "    try: await task\n"
        "    except asyncio.CancelledError: pass\n"
        "    return bytes((await m.run([x]))[0])\n"
        "last = asyncio.run(main())"
    )
    assert fresh.eval("last == golden and turns > 3")


def test_done_is_true_when_the_time_is_over(fresh):
    """done() is True at the time-out of a hanging NPU, as wait() would raise, not block."""
    fresh.exec(CALLBACK + "n = ethosu.reserve()\nemulator.fault('hang')")
    fresh.exec("n.invoke_async(payload, [], timeout_ms=1000)\nfirst = n.done()")
    fresh.exec("begun = time.ticks_ms()")
    fresh.exec(
        "while not n.done() and time.ticks_diff(time.ticks_ms(), begun) < 5000: pass", timeout=30
    )
    assert fresh.eval("(first, n.done())") == (False, True)
    assert raised(fresh, "n.wait()").startswith("OSError 110 inference took longer than 1000 ms")
    fresh.exec("n.release()")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_faults_end_in_their_errors(fresh):
    fresh.exec("late = ethosu.Model('/m.tflite', timeout_ms=20)")
    fresh.exec("emulator.fault('hang')")
    assert raised(fresh, "late.run_into([x])").startswith(
        "OSError 110 inference took longer than 20 ms: running"
    )
    fresh.exec("emulator.fault('hang')")
    assert raised(fresh, "asyncio.run(late.run([x]))").startswith("OSError 110 inference took")
    fresh.exec("emulator.fault('bus-error')")
    assert "bus error" in raised(fresh, "m.run_into([x])")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize("others", ["", ", m._start", ", lambda: late._start([x])"])
def test_callback_cancels_the_inference_that_is_waited_for(fresh, others):
    """A waiting call reports a callback's cancel; an inference started meanwhile continues."""
    fresh.exec(CALLBACK)
    code = f"later(late.cancel{others})\nlate.run_into([x])"
    assert raised(fresh, code) == "OSError 125 the inference was cancelled"
    fresh.exec("time.sleep_ms(5)")
    for model in ("m", "late"):
        fresh.exec(
            "while ethosu._is_running(0): pass\n"
            f"if {model} in (ethosu._ticket(0) or ()): assert {model}._step()"
        )
    assert fresh.eval("bytes(m.predict([x])[0]) == bytes(late.predict([x])[0]) == golden")


def test_callback_cancels_the_payload_that_is_waited_for(fresh):
    fresh.exec(CALLBACK + "n = ethosu.reserve()")
    for others in ("n.cancel", "n.cancel, lambda: n.invoke_async(payload, [])", "n.release"):
        code = f"later({others})\nn.invoke(payload, [], timeout_ms=3000)"
        assert raised(fresh, code) == "OSError 125 the inference was cancelled"
    assert raised(fresh, "n.invoke(payload, [])").startswith("OSError 1 this NPU was released")
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_a_busy_model_continues_when_called_again(fresh):
    fresh.exec("m._start([x])")
    for call in ("m.run_into([x])", "m.predict([x])", "m._start()"):
        assert raised(fresh, call).startswith("OSError 16 this model is running")
    fresh.exec("while ethosu._is_running(0): pass\nassert m._step()")
    assert fresh.eval("bytes(m._fetch()[0]) == golden")


def test_a_lost_job_keeps_its_memory(fresh):
    """A lost job's memory, which the NPU may still write, is not reused."""
    fresh.exec(
        "emulator.fault('hang')\nethosu.reserve().invoke_async(payload, [None, bytearray(64)])"
    )
    fresh.exec("gc.collect()\ngarbage = [bytearray(b'\\xA5' * 64) for _ in range(500)]")
    fresh.exec("ticket = ethosu._ticket(0)")
    assert fresh.eval("bytes(ticket[3][1])") == bytes(64)
    fresh.exec("del ticket\nemulator.fault('hang', 0)\nethosu._ticket(0)[-1].cancel()")
    assert fresh.eval("ethosu._ticket(0)") is None
    fresh.exec("def deep(n): return n and deep(n - 1)\ndeep(30)")  # overwrites old stack contents
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_a_handle_without_an_npu_stops_no_job(fresh):
    """The handle of a failed reserve() does not stop another handle's job when collected."""
    fresh.exec(CALLBACK + "n = ethosu.reserve()\nemulator.fault('hang')")
    fresh.exec("n.invoke_async(payload, [])")
    assert raised(fresh, "ethosu.reserve(timeout_ms=0)").startswith("OSError 16 the NPU is reser")
    fresh.exec("gc.collect()\ngarbage = [bytearray(64) for _ in range(500)]\ngc.collect()")
    assert fresh.eval("(ethosu._ticket(0) is None, n.done())") == (False, False)
    fresh.exec("n.release()")


@pytest.mark.parametrize(
    "call",
    ["with ethosu.reserve(timeout_ms=0) as n: n.invoke(payload, [])", "m.predict([x])"],
    ids=["payload", "model"],
)
def test_a_lost_job_that_has_ended_frees_the_npu(fresh, call):
    """A lost job that has ended frees the NPU; separate code avoids stale registers."""
    fresh.exec(
        "import struct\n"
        "payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)\n"
        "ethosu.reserve().invoke_async(payload, [])\nwhile ethosu._is_running(0): pass"
    )
    fresh.exec(call)
    assert fresh.eval("bytes(m.predict([x])[0]) == golden")


def test_bad_models_are_refused(fresh, small_models):
    fresh.write_file("/raw.tflite", small_models["small_cnn"].read_bytes())
    assert "ethosu compile" in raised(fresh, "ethosu.Model('/raw.tflite')")
    assert raised(fresh, "ethosu.Model(b'no model')").startswith("ValueError ")
    assert raised(fresh, "ethosu.Model('/m.tflite', arena=bytearray(99))").startswith("ValueError")


def test_cpu_operators_are_refused(loaded):
    """CPU operators are refused, since time-out and Ctrl-C would not stop them."""
    graph = maker.Maker(np.random.default_rng(1))
    end, like = graph.input((1, 6), "int8", 0.5, 3), graph.output((1, 6), "int8", 0.5, 3)
    graph.operator("RELU", [end], [like])
    loaded.write_file("/relu.tflite", plan_writer.add_plan(write([graph.graph], "relu")))
    assert "RELU" in raised(loaded, "ethosu.Model('/relu.tflite')")


def test_payloads(fresh):
    fresh.exec(
        "with ethosu.reserve() as n:\n"
        "    n.invoke(payload, [None, None])\n"
        "    n.invoke_async(payload, [])\n"
        "    while not n.done(): pass\n"
        "    n.wait()\n"
        "    asyncio.run(n.run(payload, []))\n"
    )
    fresh.exec("n = ethosu.reserve(); n.invoke_async(payload, []); n.cancel()")
    assert raised(fresh, "n.wait()") == "OSError 125 the inference was cancelled"
    assert raised(fresh, "n.wait()").startswith("OSError 22 no inference was started")
    fresh.exec("n.release()")
    refused = raised(fresh, "with ethosu.reserve() as n: n.invoke(b'no payload', [])")
    assert refused.startswith("ValueError payload is 10 bytes long")


def test_selftest(loaded, compiled, small_models, tmp_path):
    path = tmp_path / "proven.tflite"
    path.write_bytes(compiled(small_models["small_cnn"], loaded.machine.npu).read_bytes())
    selftest.add(small_models["small_cnn"], path)
    loaded.write_file("/proven.tflite", path.read_bytes())
    assert loaded.eval("ethosu.Model('/proven.tflite').selftest()", timeout=30) is True


@pytest.mark.slow
def test_firmware_without_the_module_installs_it(
    emulator_only, build_dir, native, board_npu, compiled, small_models, example
):
    """`mpremote mip install` adds module and driver to a firmware without both."""
    name = boards.chosen().name
    sharing.make("firmware", f"BOARD={name}", "ETHOSU=no")
    machine = Machine(
        emulated(npu=board_npu, firmware=build_dir / f"firmware/{name}-plain/firmware.elf")
    )
    with Board(machine.port) as board:
        assert "ImportError" in raised(board, "import ethosu")
    subprocess.run(
        [sys.executable, "-m", "mpremote", "connect", machine.port, "mip", "install",
         "--target", "/lib", native / "package.json"],
        check=True, capture_output=True,
    )  # fmt: skip
    with QemuBoard(machine) as board:
        board.exec(f"import gc, ethosu\nethosu.init({address()})")
        load(board, compiled(small_models["small_cnn"], board_npu))
        put(board, example)
        assert board.eval("bytes(m.predict([x])[0]) == golden")
        assert board.eval("(m.labels, m.metadata())") == (None, {})
        # The firmware does not know the NPU, so only the module can stop the NPU.
        board.exec("import emulator, machine\nemulator.fault('hang')\nm._start()")
        assert board.eval(status()) == 1
        board.soft_reset()
        board.exec("import machine")
        assert board.eval(status()) == 0


@pytest.mark.slow
@pytest.mark.parametrize("release", releases.OTHERS)
def test_firmware_of_each_other_release_loads_it(
    emulator_only, native, board_npu, compiled, small_models, example, release
):
    """Firmware of other MicroPython releases loads the file built for the default one."""
    image = releases.image(release, boards.chosen().name, "ETHOSU=no")
    with QemuBoard(Machine(emulated(npu=board_npu, firmware=image))) as board:
        board.write_file("/ethosu.mpy", (native / "ethosu.mpy").read_bytes())
        board.exec(f"import gc, ethosu\nethosu.init({address()})")
        load(board, compiled(small_models["small_cnn"], board_npu))
        put(board, example)
        assert board.eval("bytes(m.predict([x])[0]) == golden")
