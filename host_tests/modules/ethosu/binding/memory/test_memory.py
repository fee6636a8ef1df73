# SPDX-License-Identifier: MIT
"""The NPU accesses only the memory assigned to it, whatever the program does."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.board_models import raised
from host_tests.kit.firmware_image import places
from host_tests.modules.ethosu.driver.streams import npu_calls
from host_tests.modules.ethosu.runtime import hostile

# others() allocates objects and returns those in these bytes. The heap uses the first free block
# that fits, so an object after these bytes shows that none is free. More follow, in case of a
# collection. `start` is odd: an address above 1 GB is an integer on the heap, which would keep it.
_SETUP = """
import struct, uctypes
need = m.info()['arena_size'] + 64
file = open('/model.tflite', 'rb').read()
payload = struct.pack('<4sIIII', b'COP1', 5, 5, 2 | 1 << 16, 0xFFFF << 16)
FILL = b'\\xA5' * 512
def others(start, size):
    gc.collect()
    new, hit, behind = [], [], 0
    while behind < 100:
        new.append(bytearray(FILL))
        at = uctypes.addressof(new[-1])
        if start - 512 < at < start + size: hit.append(new[-1])
        behind += at >= start + size
    return hit, new
def unspoilt(k, start, size):
    hit, new = others(start, size)
    right = bytes(k.predict([x])[0]) == golden
    return len(hit), right, all(each == FILL for each in new)
"""

# Code that creates a buffer `given` of `size` bytes, and code that drops or resizes its owner.
_OWNERS = {
    "a slice": ("given = memoryview(bytearray(1024 + size))[1024:]", "pass"),
    "a slice of a slice": ("given = memoryview(bytearray(2080 + size))[1024:][1056:]", "pass"),
    "ethosu.buffer": ("given = ethosu.buffer(size)", "pass"),
    "a slice of ethosu.buffer": ("given = ethosu.buffer(1024 + size)[1024:]", "pass"),
    "uctypes.bytearray_at": (
        "given = uctypes.bytearray_at(uctypes.addressof(bytearray(4096 + size)) + 4096, size)",
        "pass",
    ),
    "bytearray.extend": ("given = bytearray(size)", "given.extend(bytes(100000))"),
    "bytearray +=": ("given = bytearray(size)", "given += bytes(100000)"),
    "bytearray.append": ("given = bytearray(size)", "for _ in range(5000): given.append(0)"),
    "insertion into a bytearray": ("given = bytearray(size)", "given[5:5] = bytes(100000)"),
    "removal from a bytearray": ("given = bytearray(size)", "given[5:] = b''\ngiven.extend(b'0')"),
    "array.extend": ("given = array('B', bytes(size))", "given.extend(array('B', bytes(100000)))"),
    "array.append": ("given = array('B', bytes(size))", "for _ in range(5000): given.append(0)"),
    "extend below a view": (
        "owner = bytearray(size)\ngiven = memoryview(owner)",
        "owner.extend(bytes(100000))",
    ),
}  # fmt: skip


def _function(*parts: str) -> str:
    lines = "\n".join(parts).splitlines()
    return "def make(size):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.fixture
def memory(emulated):
    emulated.exec(_SETUP)
    return emulated


@pytest.mark.parametrize("owner", _OWNERS)
def test_an_arena_stays_with_its_model(memory, owner):
    """No other object is allocated in a model's arena, whatever its address in the heap."""
    given, later = _OWNERS[owner]
    memory.exec(
        _function(
            given,
            "k = ethosu.Model('/model.tflite', arena=given)",
            later,
            "return k, k.info()['arena_address'] | 1",
        )
        + "seen = set()\n"
        "for pad in range(4):\n"
        "    pads = [bytearray(16) for _ in range(pad)]\n"
        "    k, at = make(need)\n"
        "    seen.add(unspoilt(k, at, need - 64))\n"
    )
    assert memory.eval("seen") == {(0, True, True)}


def test_two_models_share_an_arena_only_when_neither_keeps_data_there(
    memory, board_npu, compiled, small_models
):
    streaming = compiled(small_models["small_streaming"], board_npu)
    memory.write_file("/streaming.tflite", streaming.read_bytes())
    memory.exec(
        "half = 20480\ngiven = memoryview(ethosu.buffer(2 * half))\n"
        "def load(name, start=0): return ethosu.Model(f'/{name}.tflite', arena=given[start:])\n"
        "a, b = load('model'), load('model', 32)\n"
    )
    assert memory.eval("[bytes(k.predict([x])[0]) == golden for k in (a, b, a)]") == [True] * 3
    refusal = "overlaps the arena of a loaded model, and {} model keeps data there"
    assert refusal.format("this") in raised(memory, "load('streaming')")
    memory.exec("a.deinit()\nb.deinit()\nother = load('model', half)\ns = load('streaming')")
    assert refusal.format("that") in raised(memory, "load('model')")
    assert refusal.format("this") in raised(memory, "load('streaming', 64)")
    assert memory.eval("bytes(other.predict([x])[0]) == golden")
    memory.exec("s = None\ns = load('streaming')\ns.deinit()\nk = load('model')")
    assert memory.eval("bytes(k.predict([x])[0]) == golden")


# Actions of another model that are refused while a model is running in the same arena.
_IN_A_BUSY_ARENA = (
    "ethosu.Model('/model.tflite', arena=given)",
    "ethosu.Model('/model.tflite', arena=given[need - 96:])",
    "b.predict([other])",
    "b.run_into([other])",
    "b._start([other])",
    "b.inputs[0].quantize([1] * len(other))",
)


def test_an_arena_in_which_a_model_runs_is_refused(memory):
    memory.exec(
        "given = memoryview(ethosu.buffer(2 * need))\nother = bytes(len(x))\n"
        "a, b = (ethosu.Model('/model.tflite', arena=given) for _ in range(2))\n"
        "mask()\na._start([x])\nbefore = bytes(given)"
    )
    for code in _IN_A_BUSY_ARENA:
        assert raised(memory, code).startswith("OSError 16 arena at 0x"), code
    assert memory.eval("bytes(given) == before")
    memory.exec(
        "apart = ethosu.Model('/model.tflite', arena=given[need:])\nb.deinit()\nunmask()\n"
        "while not a._step(): pass\ny, = a._fetch()"
    )
    assert memory.eval("bytes(y) == golden")
    memory.exec("b = ethosu.Model('/model.tflite', arena=given)")
    assert memory.eval("[bytes(k.predict([x])[0]) == golden for k in (a, b, apart)]") == [True] * 3


def test_an_arena_that_a_payload_uses_is_refused(memory):
    memory.exec(
        "given = ethosu.buffer(need)\nn = ethosu.reserve(npu=m.npu)\nmask()\n"
        "n.invoke_async(payload, [bytes(16), memoryview(given)[need - 96:]])"
    )
    load = "ethosu.Model('/model.tflite', arena=given, npu=n)"
    assert raised(memory, load).startswith("OSError 16 arena at 0x")
    # wait() invalidates the CPU's cache for the NPU's output, so nothing may write there before.
    memory.exec("unmask()\nwhile not n.done(): pass")
    assert raised(memory, load).startswith("OSError 16 arena at 0x")
    memory.exec("n.wait()\nk = " + load)
    assert memory.eval("bytes(k.predict([x])[0]) == golden")
    memory.exec("n.release()")


def test_an_arena_left_busy_by_a_lost_loop_becomes_available(memory):
    """After Ctrl-C ended the loop, the inference is stopped when its arena is needed."""
    memory.exec(
        "import asyncio\ngiven = ethosu.buffer(need)\n"
        "a = ethosu.Model('/model.tflite', arena=given)\n"
        "async def leave():\n"
        "    task = asyncio.create_task(a.run([x]))\n"
        "    await asyncio.sleep_ms(0)\n"
        "    raise KeyboardInterrupt\n"
        "mask()\n"
        "try: asyncio.run(leave())\nexcept KeyboardInterrupt: pass\n"
        "b = ethosu.Model('/model.tflite', arena=given)\nunmask()"
    )
    assert memory.eval("bytes(b.predict([x])[0]) == golden")


@pytest.mark.parametrize("owner", _OWNERS)
def test_a_source_stays_with_its_model(memory, owner):
    given, later = _OWNERS[owner]
    memory.exec(
        _function(
            given,
            "memoryview(given)[:] = file",
            "k = ethosu.Model(given)\nat = uctypes.addressof(given) | 1",
            later,
            "return k, at",
        )
        + "k, at = make(len(file))\nseen = unspoilt(k, at, len(file))"
    )
    assert memory.eval("seen") == (0, True, True)


def test_a_view_of_a_tensor_keeps_an_arena_that_was_given(memory):
    memory.exec(
        "def make():\n"
        "    k = ethosu.Model('/model.tflite', arena=memoryview(bytearray(1024 + need))[1024:])\n"
        "    k.run_into([x])\n"
        "    return k.outputs[0].data\n"
        "y = make()\nhit = others(uctypes.addressof(y) | 1, 10)[0]"
    )
    assert memory.eval("(len(hit), bytes(y) == golden)") == (0, True)


@pytest.mark.parametrize("owner", _OWNERS)
def test_a_job_keeps_its_blocks(memory, owner):
    """A buffer that is dropped or resized during a DMA to it is not reused meanwhile."""
    given, later = _OWNERS[owner]
    memory.exec(
        "words = (0x130, 0x10131, 0x4030, 0, 0x4031, 0, 0x4032, 4096, 0x10, 0xFFFF0000)\n"
        "job = struct.pack('<4sIII10I', b'COP1', 5, 5, 2 | 10 << 16, *words)\n"
        "keep = []\nn = ethosu.reserve(npu=m.npu)\n"
        + _function(
            "while True:",
            *(f"    {line}" for line in given.splitlines()),
            "    at = uctypes.addressof(given)",
            "    if at % 32 == 0: break",
            "    keep.append((given, bytearray(512 + 16 * (len(keep) % 2))))",  # vary the address
            "n.invoke_async(job, [ethosu.buffer(4096), given])",
            later,
            "return at | 1",
        )
        + "mask()\n"
        "try: hit = others(make(4096), 4096)[0]\n"
        "finally: unmask()\n"
        "n.wait()\nn.release()\n"
    )
    assert memory.eval("len(hit)") == 0


def test_blocks_are_free_again_after_a_job_and_with_a_model(memory):
    """80 models and 80 jobs, each on its own block that is then resized, leak no memory."""
    memory.exec(
        "def once():\n"
        "    big = bytearray(20000)\n"
        "    k = ethosu.Model('/model.tflite', arena=big)\n"
        "    big.extend(bytes(20000))\n"
        "    k.deinit()\n"
        "    with ethosu.reserve(npu=m.npu) as n:\n"
        "        base = bytearray(20000)\n"
        "        n.invoke_async(payload, [base])\n"
        "        base.extend(bytes(20000))\n"
        "        n.wait()\n"
        "once()\ngc.collect()\nbefore = gc.mem_alloc()\n"
        "for _ in range(80): once()\n"
        "gc.collect()\nlost = gc.mem_alloc() - before"
    )
    # An old word on the stack may keep one block, which a leak in each round would exceed.
    assert memory.eval("lost") < 800 + 40_000
    assert memory.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.parametrize(
    "code",
    [
        "ethosu.Model(file, arena=view)",
        "ethosu.Model(view)",
        "with ethosu.reserve(npu=m.npu) as n: n.invoke(payload, [view])",
        "with ethosu.reserve(npu=m.npu) as n: n.invoke(view, [])",
    ],
)
def test_freed_memory_is_rejected(memory, code):
    """A view of a bytearray that has moved since leads to memory that other objects may have."""
    memory.exec(
        "big = bytearray(100000)\nbig[:len(file)] = file\nview = memoryview(big)\n"
        "big.extend(bytes(200000))\n"
    )
    assert "is not a heap block" in raised(memory, code)


# Commands that make the NPU write 32 bytes by DMA to `outside`, which is not the model's memory.
_EVIL = """
import asyncio, vfs
outside = bytearray(b'\\xEE' * 96)
def spoil(source, k):
    to = uctypes.addressof(outside) + 32 - k.info()['arena_address']
    words = 0x10130, 0x10131, 0x4030, 0, 0x4031, to & 0xFFFFFFF0, 0x4032, 32, 0x10, 0xFFFF0000
    code = struct.pack('<10I', *words)
    start = bytes(source).find(b'COP1') + 32
    for i in range(len(code)): view[start + i] = code[i]
    first = uctypes.addressof(view) + start
    for at in range(first & ~31, first + len(code), 32):
        machine.mem32[0xE000EF68] = at  # DCCMVAC: clean this line of the data cache
def outside_the_heap(data):
    there = uctypes.bytearray_at(FREE, len(data))
    there[:] = data
    return there
def in_a_job(k):
    mask()
    ended = k._start([x])
    spoil(source, k)
    unmask()
    while not ended: ended = k._step()
    return k._fetch()[0]
"""


@pytest.mark.parametrize("run", ["k.predict([x])[0]", "asyncio.run(k.run([x]))[0]", "in_a_job(k)"])
@pytest.mark.parametrize("source", ["bytearray(file)", "outside_the_heap(file)"])
def test_a_stream_in_ram_runs_as_it_was_checked(memory, source, run):
    """If Python modifies a model's file, the NPU still runs the commands that were verified."""
    memory.exec(
        f"{_EVIL}\nsource = {source}\nview = memoryview(source)\nk = ethosu.Model(source)\n"
        f"spoil(source, k)\ny = {run}"
    )
    assert memory.eval("(bytes(y) == golden, set(outside))") == (True, {0xEE})


def test_commands_are_not_copied_to_a_callers_arena(memory):
    """A misaligned file's weights are copied to the arena, but not its commands."""
    memory.exec(
        "big = bytearray(len(file) + need)\ndata = b'0' + file\n"
        "k = ethosu.Model(memoryview(data)[1:], arena=big)\nstart = file.find(b'COP1') + 32\n"
    )
    assert memory.eval("k.info()['copied_bytes']") > 0
    assert memory.eval("bytes(k.predict([x])[0]) == golden")
    assert memory.eval("bytes(big).find(file[start:start + 64])") == -1


def test_only_the_commands_of_a_file_in_ram_are_copied(memory, board_npu, compiled, small_models):
    """A file in immutable bytes is used in place; in a bytearray, its commands are copied."""
    (call,) = npu_calls(compiled(small_models["small_cnn"], board_npu))
    memory.exec("a, b = ethosu.Model(file).info(), ethosu.Model(bytearray(file)).info()")
    copied = memory.eval("b['object_size'] - a['object_size']")
    assert len(call.stream) <= copied <= len(call.payload) + 64
    assert memory.eval("a['copied_bytes'] == b['copied_bytes'] == 0")


@pytest.mark.parametrize("kind", ["bytearray", "memoryview(bytearray", "bytes"])
def test_a_payload_in_ram_runs_as_it_was_checked(memory, kind):
    """A running NPU reads a payload's commands from memory that Python cannot write."""
    close = ")" * kind.count("(")
    memory.exec(
        f"job = {kind}(payload){close}\nn = ethosu.reserve(npu=m.npu)\n"
        "mask()\nn.invoke_async(job, [])\n"
        "read_at = machine.mem32[NPU + 0x10]\nunmask()\nn.wait()\nn.release()\n"
        "inside = 0 <= read_at - uctypes.addressof(job) < len(job)"
    )
    assert memory.eval("inside") is (kind == "bytes")


def test_a_self_modifying_payload_runs_as_it_was_checked(memory):
    memory.exec(
        "outside = bytearray(b'\\xEE' * 96)\nwhole = ethosu.buffer(4096)\nnew = ethosu.buffer(64)\n"
        "to = uctypes.addressof(outside) + 32 - uctypes.addressof(whole)\n"
        "stop, to = 0xFFFF0000, to & 0xFFFFFFF0\n"
        "new[:32] = struct.pack('<8I', 0x4031, to, 0x4032, 32, 0x10, stop, stop, stop)\n"
        "words = (0x130, 0x10131, 0x4030, 0, 0x4031, 64, 0x4032, 32, 0x10, 0x11, 0x12, 0x12,\n"
        "         0x4031, 64, 0x4032, 32, 0x12, stop, stop, stop)\n"
        "job = struct.pack('<4sIII20I', b'COP1', 5, 5, 2 | 20 << 16, *words)\n"
        "whole[:len(job)] = job\n"
        "with ethosu.reserve(npu=m.npu) as n: n.invoke(whole[:len(job)], [new, whole])\n"
    )
    assert memory.eval("set(outside)") == {0xEE}


@pytest.fixture(scope="module")
def rom_board(emulator_only, board_npu, compiled, small_models):
    """Return an emulated board with small_cnn in its ROM file system."""
    model = compiled(small_models["small_cnn"], board_npu).read_bytes()
    image = romfs.build({"other.txt": b"odd", "model.tflite": model})
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=image)) as board:
        yield board, image


@pytest.fixture
def rom(rom_board, example):
    """Return the board with `m` in ROM; `write()` stores the same image again."""
    board, image = rom_board
    _, x, y = example
    board.soft_reset()
    board.write_file("/image", image)
    board.exec(
        "import asyncio, ethosu, machine, vfs\n"
        f"x, golden = __import__('array').array('b', {x.tobytes()!r}), {y.tobytes()!r}\n"
        "data = open('/rom/model.tflite', 'rb').read()\n"
        "image = open('/image', 'rb').read()\nimage += bytes(-len(image) % 4)\n"
        "def write(): return vfs.rom_ioctl(3, 0, len(image)), vfs.rom_ioctl(4, 0, 0, image)\n"
        f"{places()}"
        "m = ethosu.Model('/rom/model.tflite')\n"
    )
    return board


_OVERWRITTEN = "ValueError the ROM file system was written: load this model again"


@pytest.mark.usefixtures("writable_rom")
def test_a_model_in_rom_ends_when_the_rom_is_written(rom):
    rom.exec("t = m.inputs[0]\nr = ethosu.Model(data)\nprint(m)\ndone = write()")
    assert rom.eval("done") == (4, 0)
    for call in ("m.predict([x])", "m.run_into()", "m.info()", "m.reset()", "m.inputs", "t.shape",
                 "t.quantize([0] * 768)", "t.dequantize()", "m.metadata('x')", "m.cancel()",
                 "asyncio.run(m.run([x]))"):  # fmt: skip
        assert raised(rom, call) == _OVERWRITTEN, call
    assert "closed" in rom.eval("repr(m)")
    assert rom.eval("bytes(r.predict([x])[0]) == golden")  # in RAM
    rom.exec("m.deinit()\nm.deinit()\nm = ethosu.Model('/rom/model.tflite')")
    assert rom.eval("bytes(m.predict([x])[0]) == golden")


@pytest.mark.usefixtures("writable_rom")
def test_no_rom_is_written_while_an_npu_works(rom):
    rom.exec(
        "mask()\nended = m._start([x])\ndone = []\n"
        "for request in (3, 0, len(image)), (4, 0, 0, image), (5, 0):\n"
        "    try: vfs.rom_ioctl(*request)\n"
        "    except OSError as error: done.append(error.errno)\n"
        "unmask()\nwhile not ended: ended = m._step()\ny = m._fetch()[0]"
    )
    assert rom.eval("(done, bytes(y) == golden)") == ([16, 16, 16], True)
    assert rom.eval("write()") == (4, 0)


@pytest.mark.parametrize("at", [0, 250_000, 500_000])
def test_a_large_block_costs_few_instructions(memory, at):
    """Finding a base's heap block takes less than one instruction per word of the block."""
    memory.exec(
        "import emulator\nbig, small = memoryview(bytearray(1 << 19)), bytearray(64)\n"
        "def cost(base):\n"
        "    bases = [base]\n"
        "    with ethosu.reserve(npu=m.npu) as n:\n"
        "        n.invoke(payload, bases)\n"
        "        begun = emulator.instructions()\n"
        "        n.invoke(payload, bases)\n"
        "        return emulator.instructions() - begun\n"
    )
    # One allocation may have to search behind the block for a free unit.
    least = f"min(cost(big[{at}:{at} + 64]) for _ in range(3))"
    assert memory.eval(f"{least} - cost(small)") < (1 << 19) / 16


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_an_arena_is_a_block_like_others(memory, step):
    """An arena, whose heap units the module marks itself, 16 at once, is cleared, exclusive, and
    free again afterwards. Before it are small blocks, of which every `step`th is kept."""
    memory.exec(
        "assert need > 64 * 32 + 64  # as many units as that\n"
        f"held = [bytearray(32 * (1 + i % 7)) for i in range(400)][::{step}]\n"
        "for each in held: each[:] = b'\\xA5' * len(each)\n"
        "def cycle():\n"
        "    k = ethosu.Model(file)\n"
        "    zero = not any(bytes(k.inputs[0].data))\n"
        "    return (zero,) + unspoilt(k, k.info()['arena_address'] | 1, k.info()['arena_size'])\n"
        "gc.collect()\n_ = cycle()\ngc.collect()\n"
        "total = gc.mem_alloc() + gc.mem_free()\nused = gc.mem_alloc()"
    )
    for _ in range(3):
        assert memory.eval("cycle()") == (True, 0, True, True)
    memory.exec("gc.collect()\nleft = gc.mem_alloc() - used")
    assert memory.eval("left") < 256
    assert memory.eval("gc.mem_alloc() + gc.mem_free() == total")
    assert memory.eval("all(each == b'\\xA5' * len(each) for each in held)")


@pytest.mark.parametrize("call", ["ethosu.buffer(8192)", "load()", "predict()"])
def test_nothing_is_allocated_while_the_collector_is_locked(memory, call):
    """As in an interrupt's handler: the module's own allocator must not run in a collection."""
    memory.exec(
        "import micropython\nins = [x]\n"
        "def load(): return ethosu.Model(file)\ndef predict(): return m.predict(ins)"
    )
    locked = f"micropython.heap_lock()\ntry: {call}\nfinally: micropython.heap_unlock()"
    assert raised(memory, locked).startswith("MemoryError")
    assert memory.eval("bytes(load().predict(ins)[0]) == bytes(predict()[0]) == golden")


def test_a_list_of_scales_overwrites_nothing(board):
    """65,537 scales in a shape with one channel, whose size overflows 32 bits, are rejected."""
    model = hostile.with_scales(65537, 0, (1, 65537))
    board.write_file("/scales.tflite", model)
    board.exec(
        "import ethosu, gc\nfrom array import array\ngc.collect()\npad = bytearray(8192)\n"
        "into = array('f', bytes(4 * 65537))\npad = None\ngc.collect()\n"
        f"file = bytearray({len(model)})\nopen('/scales.tflite', 'rb').readinto(file)\n"
        "behind = [bytearray(b'\\xA5' * 4096) for _ in range(75)]\n"
    )
    error = raised(board, "ethosu.Model(file).inputs[0].dequantize(None, into)")
    assert board.eval("sum(each.count(b'\\xA5') for each in behind)") == 75 * 4096
    assert "65537 scales" in error
