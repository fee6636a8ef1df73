# SPDX-License-Identifier: MIT
"""Callbacks while a model or NPU is between two states are deferred, or do no harm."""

import pytest
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs
from ethosu_tools.model.make_model import Net, remember_from
from ethosu_tools.model.tflite.writer import Graph

from host_tests.kit.board_models import MODEL, raised

# If the first attempt to reserve fails, the module looks for handles that the program has dropped.
_LOST_HANDLE = "import _ethosu, micropython\nh = ethosu.reserve(npu=m.npu)\nh = None\nseen = []\n"


@pytest.fixture(scope="module")
def large_state(tmp_path_factory):
    """Make a model with 96 KB of state, which load and reset() copy in two pieces."""
    net, init = Net("large_state", 2), Graph("init")
    net.graph.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    x = net.input((1, 1, 64, 64))
    x = net.conv(remember_from(init, net, x, "frames", past=24), 4, kernel=(1, 1))
    path = tmp_path_factory.mktemp("models") / "large_state.tflite"
    path.write_bytes(net.finish(x, others=[init]))
    return path


def test_an_expired_time_out_does_not_interrupt_the_initial_values(
    board, board_npu, compiled, large_state
):
    board.write_file(MODEL, compiled(large_state, board_npu).read_bytes())
    board.exec(
        "import ethosu, gc, hashlib, time\n"
        "def state(ms):\n"
        "    global m\n"
        "    m = None\n"
        "    gc.collect()\n"
        f"    m = ethosu.Model({MODEL!r}, arena=memory, timeout_ms=ms)\n"
        "    return hashlib.sha256(memory).digest()\n"
        f"with ethosu.Model({MODEL!r}) as m: need = m.info()['arena_size'] + 64\n"
        "m = None\ngc.collect()\nmemory = bytearray(need)\n"
        "endless = state(-1)\n"
        "for i in range(len(memory)): memory[i] = 0\n"
        "short = state(1)"
    )
    assert board.eval("endless == short")
    board.exec("m.reset()\nagain = hashlib.sha256(memory).digest()")
    assert board.eval("again == endless")


@pytest.mark.parametrize("action", ["m.deinit()", "m.run_into([other])", "m.reset()"])
def test_a_callback_during_the_search_for_lost_handles_waits(api, action):
    api.exec(
        _LOST_HANDLE + "other = bytearray(len(x))\n"
        "def callback(_):\n"
        f"    try: {action}\n"
        "    except (OSError, ValueError) as error: seen.append(error.args[0])\n"
        "    else: seen.append(0)\n"
        "def go():\n"
        "    micropython.schedule(callback, 0)\n"
        "    return bytes(m.predict([x])[0])\n"
    )
    assert api.eval("go() == golden")
    assert len(api.eval("seen")) == 1


@pytest.fixture(scope="module")
def many_layers(tmp_path_factory):
    """Make a model that takes long enough to load for callbacks to run in the meantime."""
    net = Net("many_layers", 5)
    x = net.input((1, 8, 8, 8))
    for _ in range(600):
        x = net.conv(x, 8, kernel=(1, 1))
    path = tmp_path_factory.mktemp("models") / "many_layers.tflite"
    path.write_bytes(net.finish(x))
    return path


@pytest.mark.parametrize("calls", [1, 2])
def test_a_callback_during_a_load_may_resize_what_is_loaded(
    board, board_npu, compiled, many_layers, calls
):
    board.write_file(MODEL, compiled(many_layers, board_npu).read_bytes())
    board.exec(
        "import ethosu, gc, micropython\n"
        f"file = open({MODEL!r}, 'rb').read()\n"
        "m = ethosu.Model(file)\nneed = m.info()['arena_size'] + 64\n"
        "x = bytearray((i * 37) & 255 for i in range(512))\ngolden = bytes(m.predict([x])[0])\n"
        f"left = {calls}\nnew = []\n"
        "def callback(_):\n"
        "    global left\n"
        "    left -= 1\n"
        "    if left: return micropython.schedule(callback, 0)\n"
        "    for each in (given, memory): each.extend(bytes(100000))\n"
        "    for i in range(400): new.append(bytearray(b'\\x55' * 500))\n"
        "def load():\n"
        "    global given, memory\n"
        "    given, memory = bytearray(file), bytearray(need)\n"
        "    micropython.schedule(callback, 0)\n"
        "    return ethosu.Model(given, arena=memory), left\n"
        "k, left_at_the_end = load()\n"
    )
    assert board.eval("left_at_the_end") == 0, "the load is too short for this test"
    assert board.eval("bytes(k.predict([x])[0]) == golden")
    assert board.eval("all(each == b'\\x55' * 500 for each in new)")


@pytest.mark.parametrize(
    ("loaded", "other", "keeps"), [("state", "layers", "that"), ("layers", "state", "this")]
)
def test_a_callback_during_a_load_cannot_take_the_arena(
    board, board_npu, compiled, large_state, many_layers, loaded, other, keeps
):
    """A callback cannot put a second model with state into the arena of a model being loaded."""
    for name, path in (("state", large_state), ("layers", many_layers)):
        board.write_file(f"/{name}.tflite", compiled(path, board_npu).read_bytes())
    board.exec(
        "import ethosu, gc, micropython\n"
        "need = 0\nfor name in ('state', 'layers'):\n"
        "    with ethosu.Model(f'/{name}.tflite') as m: need = max(need, m.info()['arena_size'])\n"
        "    m = None\n    gc.collect()\n"
        "gc.collect()\narena = ethosu.buffer(need + 64)\nseen = []\n"
        "def load(name): return ethosu.Model(f'/{name}.tflite', arena=arena)\n"
        "def second(_):\n"
        f"    try: load('{other}').deinit()\n"
        "    except ValueError as error: seen.append(error.args[0])\n"
        "    else: micropython.schedule(second, 0)  # the other's arena is not known yet\n"
        "def go():\n"
        "    micropython.schedule(second, 0)\n"
        f"    return load('{loaded}')\n"
        "m = go()\n"
    )
    refusal = f"overlaps the arena of a loaded model, and {keeps} model keeps data there"
    assert refusal in board.eval("seen[0]")
    board.exec(
        f"m.deinit()\nbad = bytearray(open('/{loaded}.tflite', 'rb').read())\n"
        "at = bad.find(b'COP1') + 32\nbad[at:at + 4] = bytes((255, 255, 255, 255))"
    )
    assert raised(board, "ethosu.Model(bad, arena=arena)").startswith("ValueError")
    board.exec("bad = m = None\ngc.collect()")  # a failed load retains nothing
    board.exec(f"m = load('{other}')")


# An action of a callback while a ROM model is being loaded on `n`, and the model's next call.
_DURING_A_LOAD = {
    "gc.collect()": "right",
    "machine.lightsleep(1)": "right",
    "other.predict([x])": "right",
    "other.deinit()": "right",
    "opened.close()": "right",
    "vfs.umount('/rom')": "right",
    "n.release()": "OSError 1 this NPU was released: call ethosu.reserve() again",
    "write()": "ValueError the ROM file system was written: load this model again",
}


@pytest.fixture(scope="module")
def long_load(emulator_only, board_npu, compiled, many_layers):
    """Return a board that loads a model from ROM while a callback runs: `go(action)`."""
    image = romfs.build({"model.tflite": compiled(many_layers, board_npu).read_bytes()})
    with QemuBoard(Machine(emulated(npu=board_npu), romfs=image)) as board:
        board.exec(
            "import ethosu, gc, machine, micropython, vfs\n"
            "x = bytearray((i * 37) & 255 for i in range(512))\n"
            "m = ethosu.Model('/rom/model.tflite')\ngolden = m.predict([x])[0]\n"
            "need = m.info()['arena_size'] + 64\nm = None\n"
            f"image = bytes(vfs.rom_ioctl(2, 0)[:{(len(image) + 3) // 4 * 4}])\n"
            "def write(): vfs.rom_ioctl(3, 0, len(image)), vfs.rom_ioctl(4, 0, 0, image)\n"
            "def go(action):\n"
            "    global n, opened, other\n"
            "    opened = open('/rom/model.tflite', 'rb')\n"
            "    done = []\n"
            f"    with ethosu.reserve(npu={board_npu!r}) as n:\n"
            "        other = ethosu.Model(opened, npu=n)\n"
            "        micropython.schedule(lambda _: done.append(eval(action)), 0)\n"
            "        k = ethosu.Model(opened, npu=n)\n"
            "        right = k.predict([x])[0] == golden\n"
            "    if not done: right = 'the callback has not run'\n"
            "    print('right' if right is True else right)\n"
        )
        yield board


@pytest.mark.parametrize("action", _DURING_A_LOAD)
def test_a_callback_during_a_load_does_no_harm(request, long_load, action):
    if action == "write()":
        request.getfixturevalue("writable_rom")
    assert raised(long_load, f"go({action!r})").splitlines()[0] == _DURING_A_LOAD[action]
    long_load.exec("try: vfs.mount(vfs.VfsRom(vfs.rom_ioctl(2, 0)), '/rom')\nexcept OSError: pass")


def test_a_callback_can_use_no_arena_that_is_being_loaded(long_load):
    """A callback, scheduled repeatedly as the arena is unknown at first, cannot use the arena."""
    long_load.exec(
        "arena, file = ethosu.buffer(need), open('/rom/model.tflite', 'rb')\n"
        "other = ethosu.Model(file, arena=arena)\nsaid = []\n"
        "def errno(action):\n"
        "    try: action()\n"
        "    except OSError as error: return error.errno\n"
        "def again(_):\n"
        "    if errno(lambda: other.predict([x])):\n"
        "        said.append(errno(lambda: other.predict([x])))\n"
        "        said.append(errno(lambda: ethosu.Model(file, arena=arena)))\n"
        "    elif not loaded: micropython.schedule(again, 0)\n"
        "def load():\n"
        "    micropython.schedule(again, 0)\n"
        "    return ethosu.Model(file, arena=arena)\n"
        "loaded = None\nloaded = load()"
    )
    assert long_load.eval("said") == [16, 16]
    assert long_load.eval("[k.predict([x])[0] == golden for k in (other, loaded)]") == [True] * 2
