# SPDX-License-Identifier: MIT
"""If an allocation of any public call fails, it raises MemoryError, and the next call is right.

The image contains allocations.c. A call is repeated with its first allocation failing, then its
second, until none is left: alone, or with all later ones, as if the heap were full. The same is
done with Ctrl-C at each allocation. Nothing leaks.
"""

import ast
import re

import pytest
from ethosu_tools import boards
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit import firmware_image, found, sharing
from host_tests.kit.board_models import put

from .contract import OBJECTS, STUB, classes, functions, variables
from .model.test_failures import compile_to
from .model.test_metadata import rich

WRAPPED = "gc_alloc", "m_realloc", "m_realloc_maybe", "binding_allocate"

# `counted` is the address of struct allocations. `NEVER` is a small integer, as all numbers that
# are stored while allocations are counted: a larger one would be allocated.
SWEEP = """
import gc
from machine import mem32
NEVER = 0x3FFFFFFF
def once(call, first, last, interrupt):
    error = None
    mem32[counted + 4], mem32[counted + 8], mem32[counted + 12] = first, last, interrupt
    mem32[counted] = 0
    try:
        error = call() is not True and 'wrong'
        for _ in range(3): pass  # Ctrl-C at the last one
    except MemoryError: pass
    except KeyboardInterrupt: pass
    except BaseException as other:
        error = other
        try:
            for _ in range(3): pass
        except KeyboardInterrupt: pass
    count = mem32[counted]
    mem32[counted + 4] = mem32[counted + 12] = NEVER
    return count, error
def says(call):
    try: return call() is not True and 'wrong'
    except BaseException as error: return repr(error)
def sweep(call, kind):
    assert not says(call) and not says(call), says(call)
    wrong, number, count = [], 0, 1
    gc.collect()
    before = gc.mem_alloc()
    while number < count + 1 and len(wrong) < 5:
        number += 1 + count // 100
        count, error = once(call, *{
            'one': (number, number, NEVER),
            'rest': (number, NEVER, NEVER),
            'Ctrl-C': (NEVER, NEVER, number),
        }[kind])
        if error: wrong.append((number, repr(error)))
        error = says(call)
        if error: wrong.append((number, 'next', error))
    error = None
    gc.collect()
    return number - 1, wrong, gc.mem_alloc() - before
"""

SETUP = """
import asyncio, ethosu, ethosu_audio, ethosu_image
from array import array
asyncio.get_event_loop().set_exception_handler(lambda loop, context: None)
file = open('/rom/m', 'rb').read()
m, s, p, r = (ethosu.Model('/rom/' + name) for name in ('m', 's', 'p', 'r'))
y, floats, result = bytearray(len(golden)), [0.5] * len(x), array('f', bytes(4 * len(golden)))
real = [list(each) for each in m.predict([x], real=True)]
states = [bytearray(7 * (i + 1) & 255 for i in range(len(t.data))) for t in s.inputs]
s.reset()
stepped = [bytes(each) for each in s.predict(states)]
arena = ethosu.buffer(m.info()['arena_size'] + 64)
payload = b'COP1\\5\\0\\0\\0\\5\\0\\0\\0\\2\\0\\1\\0\\0\\0\\xff\\xff'
facts, everything = m.info(), r.metadata()
def same(outputs): return [bytes(each) for each in outputs] == [golden]
def stream():
    s.reset()
    return [bytes(each) for each in s.predict(states)] == stepped
async def three():
    ended = [asyncio.create_task(m.run([x])) for _ in range(2)]
    right = same(await m.run([x]))
    for task in ended: right = same(await task) and right
    return right
async def again():
    try: await m.run([x])
    except (MemoryError, KeyboardInterrupt): pass
    mem32[counted + 4] = NEVER
    return same(await asyncio.create_task(m.run([x]))) and same(await m.run([x]))
def reserved(work):
    with ethosu.reserve(npu=m.npu, timeout_ms=0) as n: return work(n)
def started(n):
    n.invoke_async(payload, [y], callback=len)
    n.done()
    return n.wait()
def begun(n):
    n.invoke_async(payload, [y])
    n.cancel()
    return True
def counters(n):
    with n.pmu(ethosu.PMU_CYCLE, ethosu.PMU_NPU_ACTIVE) as p: n.invoke(payload, [])
    return p.cycles >= p[0] and len(p) == 2 and len(list(p)) == 2
samples = array('h', [(i * i * 31) % 20000 - 10000 for i in range(1600)])
def rows(front, source):
    made = array('f', bytes(4 * front.values * front.rows(len(samples))))
    assert front.process(source, made)
    front.reset()
    return bytes(made)
sound = {kind: rows(kind(), samples) for kind in (
    ethosu_audio.MicroFrontend, ethosu_audio.Mfcc, ethosu_audio.LogMel)}
class Stream:
    def readinto(self, into): return len(into)
front, queue = ethosu_audio.LogMel(), ethosu_audio.Ring(256)
see = ethosu_image.Input(bytearray(20 * 12), (20, 12))
class held: npu = m.npu
def ring():
    new = ethosu_audio.Ring(2048)
    return new.write(samples) == new.any() == len(samples) and new.readinto(y) == len(y)
def picture():
    new = ethosu_image.Input(bytearray(20 * 12), (20, 12), mean=128, std=2, tensor=m.inputs[0])
    m.predict([new])
    return new.source(0.5, 0.5) == (10, 6)
"""

# A call of every public function and method, as code that is True if the call worked.
CALLS = [
    "ethosu.Model('/rom/m').ram == m.ram",
    "ethosu.Model('/rom/p').run_into([x]) is None",
    "ethosu.Model(file, arena=arena).run_into([x], [y]) is None and bytes(y) == golden",
    "ethosu.Model(file).deinit() is None",
    "same(m.predict([x]))",
    "same(p.predict([x]))",
    "same(p.method('forward').predict([x]))",
    "[list(each) for each in m.predict([x], real=True)] == real",
    "m.predict([floats], callback=lambda model, inputs, outputs: len(outputs)) == 1",
    "m.predict([lambda memory, shape, dtype: len(shape)]) is not None",
    "m.run_into([x], [y]) is None and bytes(y) == golden",
    "stream()",
    "same(asyncio.run(m.run([x])))",
    "asyncio.run(m.run([x], [y])) is None and bytes(y) == golden",
    "asyncio.run(three())",
    "asyncio.run(again())",
    "m.cancel() is m.reset() is None",
    "m.selftest()",
    "r.metadata() == everything and m.metadata('nothing') is None",
    "m.info() == facts",
    "repr(m) and repr(m.inputs[0]) and True",
    "len(m.tensors) > 1 and m.input_shape == ((1, 16, 16, 3),) and m.output_scale[0] > 0",
    "r.labels is not None",
    "p.methods[0] == 'forward' and p.constants['output0_zp'] == m.output_zero_point[0]",
    "m.inputs[0].quantize(floats, x) is x",
    "len(m.outputs[0].dequantize()) == len(golden)",
    "m.outputs[0].dequantize(y, result) is result",
    "(m.inputs[0].name, m.inputs[0].shape, m.inputs[0].order, m.inputs[0].axis) is not None",
    "len(ethosu.buffer(5000)) == 5000 and ethosu.npus()[m.npu] == facts['config']",
    "reserved(lambda n: n.invoke(payload, [y]) is None and n.release() is None)",
    "reserved(started)",
    "reserved(begun)",
    "reserved(lambda n: asyncio.run(n.run(payload, [y])) is None)",
    "reserved(lambda n: n.info()['config'] == facts['config'])",
    "reserved(counters)",
    "rows(ethosu_audio.MicroFrontend(), samples) == sound[ethosu_audio.MicroFrontend]",
    "rows(ethosu_audio.Mfcc(), samples) == sound[ethosu_audio.Mfcc]",
    "rows(ethosu_audio.LogMel(), samples) == sound[ethosu_audio.LogMel]",
    "ring()",
    "ethosu_audio.Ring(256).fill(Stream()) == 256",
    "picture()",
    "len(ethosu_image.above(bytes(range(200)), 100)) == 100 and ethosu_image.argmax(floats) == 0",
]


STUBS = {path.stem: ast.parse(path.read_text()) for path in STUB.parent.glob("*.pyi")}
_OBJECTS = OBJECTS | {"NPU": "held", "_Frontend": "front", "Ring": "queue", "Input": "see"}
# Each attribute of each class.
CALLS += [
    f"({_OBJECTS[kind]}.{attribute},) is not None"
    for stub in STUBS.values()
    for kind, node in classes(stub).items()
    for attribute in variables(node.body)
    if kind in _OBJECTS and kind != "PMU"
]

# These calls allocate nothing.
IN_PLACE = {
    "m.cancel() is m.reset() is None",
    "m.inputs[0].quantize(floats, x) is x",
    "m.outputs[0].dequantize(y, result) is result",
}


@pytest.fixture(scope="module")
def image(emulator_only, build_dir):
    """Build the board's firmware, linked with allocations.c."""
    name = boards.chosen().name
    source = sharing.REPO / "host_tests/modules/ethosu/binding/allocations.c"
    sharing.make("firmware", f"BOARD={name}")
    firmware = firmware_image.of().path

    def link(place):
        hook = place.with_suffix(".o")
        flags = "-mcpu=cortex-m55", "-mthumb", "-mfloat-abi=hard", "-Os", "-Wall", "-Werror"
        sharing.run(["arm-none-eabi-gcc", *flags, "-c", source, "-o", hook])
        words = " ".join([str(hook), *(f"-Wl,--wrap={function}" for function in WRAPPED)])
        with sharing.turn():
            sharing.run(
                ["make", "-C", sharing.REPO / "firmware", f"BOARD={name}", f"LINKED_TOO={place}",
                 f"LINK_TOO={words}", place]
            )  # fmt: skip

    return sharing.cached("allocations.elf", (firmware, source, *WRAPPED), link)


@pytest.fixture(scope="module")
def starved(image, board_npu, compiled, small_models, example, raw, tmp_path_factory):
    """Return a board with this image and all kinds of models."""
    source = small_models["small_cnn"]
    proven = tmp_path_factory.mktemp("proven") / "m.tflite"
    files = {
        "m": compile_to(proven, source, board_npu, "--selftest"),
        "s": compiled(small_models["small_streaming"], board_npu).read_bytes(),
        "r": rich(compiled(source, board_npu).read_bytes()),
    }
    # A file of another kind, if an add-on has one.
    added = [each.quantised(source, raw(board_npu)) for each in found.modules("program_rows")]
    files["p"] = next(iter(added), files["m"])
    counted = firmware_image.Image(image).symbol("allocations")
    with QemuBoard(
        Machine(emulated(npu=board_npu, firmware=image), romfs=romfs.build(files))
    ) as board:
        put(board, example)
        board.exec(f"counted = {counted}\n" + SWEEP + SETUP)
        yield board


def check(board, call, in_place=()):
    """Let each allocation of a call fail in each way."""
    board.exec(f"call = lambda: {call}")
    for kind in ("one", "rest", "Ctrl-C"):
        for _ in range(3):
            count, wrong, kept = board.eval(f"sweep(call, {kind!r})", timeout=60)
            assert wrong == [], kind
            assert (count == 0) == (call in in_place)
            if kept <= 0:  # what is kept once, such as a module, is not kept again in the next pass
                break
        else:
            pytest.fail(f"{kind}: {kept} bytes are lost")


@pytest.mark.parametrize("call", CALLS)
def test_after_a_failure_at_any_allocation_the_next_call_is_right(starved, call):
    check(starved, call, IN_PLACE)


@pytest.mark.parametrize("real", [False, True])
def test_predict_without_memory_leaves_the_state_of_a_streaming_model(starved, real):
    """Else a caller who repeats it with the same samples gets other results from then on."""
    starved.exec(
        f"def run(): return s.predict(states, real={real})\n"
        "def step(): return [bytes(each) for each in run()]\n"
        "s.reset()\nfirst, second = step(), step()\nfailures, wrong, count, number = 0, [], 1, 0\n"
        "while number < count:\n"
        "    number += 1\n"
        "    s.reset()\n"
        "    count, error = once(lambda: run() is not None, number, number, NEVER)\n"
        "    if step() != (first if number <= count else second): wrong.append((number, count))"
    )
    assert starved.eval("first != second and count > 3")
    assert starved.eval("wrong") == []


@pytest.mark.parametrize("name", STUBS)
def test_each_public_function_is_called(name):
    """A new one that CALLS lacks is found here; what `with` and an index call has no name there."""
    stub = STUBS[name]
    bodies = [stub.body, *(node.body for node in classes(stub).values())]
    names = {function.name for body in bodies for function in functions(body)} | set(classes(stub))
    text = SETUP + "\n".join(CALLS)
    missing = {name for name in names if not re.search(rf"\b{name}\b", text)}
    assert {name for name in missing if not name.startswith("_")} <= {"Tensor", "NPU", "PMU"}
