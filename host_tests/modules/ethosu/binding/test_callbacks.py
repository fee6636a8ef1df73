# SPDX-License-Identifier: MIT
"""Callbacks at moments when a model or an NPU is between two states: they wait, or do no harm."""

import pytest
from ethosu_tools.make_model import Net, remember_from
from ethosu_tools.tflite.writer import Graph, write

from .conftest import MODEL

# A first reservation that fails has the module look for what the program has lost.
_LOST_HANDLE = "import _ethosu, micropython\nh = ethosu.reserve()\nh = None\nseen = []\n"


@pytest.fixture(scope="module")
def large_state(tmp_path_factory):
    """A model with 192 KB of state, which a load and reset() copy in several pieces."""
    net, init = Net("large_state", 2), Graph("init")
    net.graph.operator("CALL_ONCE", [], [], "CallOnceOptions", initSubgraphIndex=1)
    x = net.input((1, 1, 64, 64))
    x = net.conv(remember_from(init, net, x, "frames", past=48), 4, kernel=(1, 1))
    net.graph.outputs.append(x.tensor)
    path = tmp_path_factory.mktemp("models") / "large_state.tflite"
    path.write_bytes(write([net.graph, init], "random weights"))
    return path


def test_an_old_time_out_does_not_cut_initial_values_off(board, board_npu, compiled, large_state):
    board.write_file(MODEL, compiled(large_state, board_npu).read_bytes())
    board.exec(
        "import ethosu, gc, hashlib, time\n"
        "def state(ms):\n"
        "    global m\n"
        "    m = None\n"
        "    gc.collect()\n"
        f"    m = ethosu.Model({MODEL!r}, arena=memory, timeout_ms=ms)\n"
        "    return hashlib.sha256(memory).digest()\n"
        f"memory = bytearray(ethosu.Model({MODEL!r}).info()['arena_size'] + 64)\n"
        "endless = state(-1)\n"
        "for i in range(len(memory)): memory[i] = 0\n"
        "short = state(1)"
    )
    assert board.eval("endless == short")
    board.exec("m.reset()\nagain = hashlib.sha256(memory).digest()")
    assert board.eval("again == endless")


@pytest.mark.parametrize("action", ["m.deinit()", "m.run_into([other])", "m.reset()"])
def test_a_callback_during_the_search_for_lost_handles_waits(face, action):
    face.exec(
        _LOST_HANDLE + "other = bytearray(len(x))\n"
        "def callback(_):\n"
        f"    try: {action}\n"
        "    except (OSError, ValueError) as error: seen.append(error.args[0])\n"
        "    else: seen.append(0)\n"
        "def go():\n"
        "    micropython.schedule(callback, 0)\n"
        "    return bytes(m.predict([x])[0])\n"
    )
    assert face.eval("go() == golden")
    assert len(face.eval("seen")) == 1


@pytest.fixture(scope="module")
def many_layers(tmp_path_factory):
    """A model that takes so long to load that callbacks run meanwhile."""
    net = Net("many_layers", 5)
    x = net.input((1, 8, 8, 8))
    for _ in range(1000):
        x = net.conv(x, 8, kernel=(1, 1))
    net.graph.outputs.append(x.tensor)
    path = tmp_path_factory.mktemp("models") / "many_layers.tflite"
    path.write_bytes(write([net.graph], "random weights"))
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
