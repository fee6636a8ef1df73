# SPDX-License-Identifier: MIT
"""Tests features, streams, overruns and errors of `ethosu_audio`, which never allocates."""

import numpy as np
import pytest
from ethosu_tools.model.samples import speech, wake_words
from ethosu_tools.sim import oracle

from host_tests.kit.board_models import keep_file, raised
from host_tests.modules.ethosu.audio import references

SAMPLES = speech.say("okay nabu", "en-us")[12000:36000]


def _with_sound(board):
    keep_file(board, "/sound.pcm", SAMPLES.tobytes())
    board.exec(
        "import ethosu_audio, gc\nfrom array import array\n"
        "with open('/sound.pcm', 'rb') as file: sound = file.read()\n"
        "def room(frontend, kind='f'):\n"
        "    count = frontend.values * max(1, frontend.rows(len(sound) // 2))\n"
        "    return array(kind, bytes(count * (4 if kind == 'f' else 2)))\n"
    )
    return board


@pytest.fixture
def audio(board):
    """Return a board with the module imported and sound in `sound`."""
    return _with_sound(board)


@pytest.fixture
def timed_audio(counting):
    """Return such a board whose time passes with its instructions, not with the host's clock."""
    return _with_sound(counting)


def take(board, expression, dtype, values):
    return np.frombuffer(board.eval(f"bytes({expression})"), dtype).reshape(-1, values)


def test_pieces_of_any_size_give_the_same_rows(audio):
    """Arrays, views and bytes give the same rows through process() and through a stream's ring."""
    audio.exec(
        "f = ethosu_audio.MicroFrontend()\nr = room(f)\nwhole = memoryview(r)\nn = at = 0\n"
        "view = memoryview(sound)\n"
        "for size in (0, 2, 318, 320, 640, 5000, 100000):\n"
        "    piece = view[at:at + size]\n    at += len(piece)\n"
        "    count = f.rows(len(piece) // 2)\n"
        "    to = whole[40 * n:40 * (n + count)] if count else r\n"
        "    made = f.process(array('h', bytes(piece)), to)\n"
        "    assert made == count\n    n += made\n"
        "f.reset()\ntwo = array('f', bytes(2 * 160))\nring = ethosu_audio.Ring(1000)\n"
        "got = bytearray()\n"
        "with open('/sound.pcm', 'rb') as file:\n"
        "    while ring.fill(file, 333) or ring.any():\n"
        "        got += bytes(memoryview(two)[:40 * f.process(ring, two)])\n"
    )
    expected = (references.micro(SAMPLES) * np.float32(0.0390625)).astype(np.float32)
    assert np.array_equal(take(audio, "r", np.float32, 40), expected)
    assert np.array_equal(take(audio, "got", np.float32, 40)[: len(expected)], expected)
    assert audio.eval("(ring.lost, ring.overruns, ring.size)") == (0, 0, 1024)


@pytest.mark.parametrize("hop", [160, 320, 480, 100])
def test_another_hop_takes_other_windows(audio, hop):
    """Rows depend on one window only, so with another hop they equal those of shifted sounds."""
    audio.exec(
        f"f = ethosu_audio.MicroFrontend(hop={hop})\nr = room(f, 'H')\nn = f.process(sound, r)"
    )
    rows = take(audio, "r", np.uint16, 40)
    assert audio.eval("n") == len(rows) == (len(SAMPLES) - 480) // hop + 1
    assert np.array_equal(rows[0], references.micro(SAMPLES[:480])[0])
    if hop == 160:
        assert np.array_equal(rows, references.micro(SAMPLES))
    elif hop % 160 == 0:
        # Window energies are those of every n-th window; the noise estimate adapts more slowly.
        assert np.corrcoef(rows[:, 5], references.micro(SAMPLES)[:: hop // 160, 5])[0, 1] > 0.8


@pytest.mark.parametrize(
    ("kind", "reference", "error"),
    [
        ("Mfcc", references.mfcc, references.MFCC_ERROR),
        ("LogMel", references.log_mel, references.FAINT_DECIBEL_ERROR),
    ],
)
def test_spectra_on_the_board_are_those_of_the_benchmarks(audio, kind, reference, error):
    audio.exec(f"f = ethosu_audio.{kind}()\nf.gain = 2 / 32768\nr = room(f)\nf.process(sound, r)")
    values = audio.eval("f.values")
    assert audio.eval("f.gain") == pytest.approx(2 / 32768)
    expected = reference(SAMPLES, gain=2 / 32768)
    rows = take(audio, "r", np.float32, values)
    heard = expected > references.FAINTEST
    assert rows.shape == expected.shape and heard.mean() > 0.5
    assert np.abs(rows - expected)[heard].max() < error


def test_nothing_is_allocated_after_construction(audio):
    audio.exec(
        "made = [kind() for kind in (ethosu_audio.MicroFrontend, ethosu_audio.Mfcc, "
        "ethosu_audio.LogMel)]\n"
        "ring = ethosu_audio.Ring(4096)\npiece = array('h', range(100))\n"
        "rows = [array('f', bytes(4 * f.values)) for f in made]\n"
        "file = open('/sound.pcm', 'rb')\n"
        "before = used = 0  # a new name may make the dictionary of names grow\n"
        "def work():\n"
        "    for i in range(3):\n"
        "        for _ in range(40):\n"
        "            ring.fill(file, 50); ring.write(piece); made[i].process(ring, rows[i])\n"
        "work(); gc.collect(); before = gc.mem_alloc(); gc.disable(); work()\n"
        "used = gc.mem_alloc() - before; gc.enable(); file.close()"
    )
    assert audio.eval("used") == 0


def test_a_timer_writes_while_the_program_reads_and_overruns_are_counted(audio):
    audio.exec(
        "import machine, time\nring = ethosu_audio.Ring(256)\npiece = array('h', [7] * 100)\n"
        "ticks = 0\n"
        "def tick(_):\n"
        "    global ticks\n    ring.write(piece); ticks += 1\n"
        "timer = machine.Timer(-1, period=1, callback=tick)\n"
        "while ticks < 10: time.sleep_ms(1)\n"
        "timer.deinit(); time.sleep_ms(5)  # a last call may be under way\n"
    )
    assert audio.eval("ring.any() == 256 and ring.lost == 100 * ticks - 256")
    assert audio.eval("ring.overruns == ticks - 2")
    assert "lost in" in audio.eval("repr(ring)")
    audio.exec("into = array('h', bytes(600))\nn = ring.readinto(into)")
    assert audio.eval("(n, list(into[:256]) == [7] * 256, ring.any())") == (512, True, 0)


@pytest.mark.parametrize(("pause_ms", "late"), [(2, False), (40, True)])
def test_samples_from_an_interrupt_are_read_or_counted_as_lost(timed_audio, pause_ms, late):
    """Samples that a 1 ms interrupt writes to a busy reader are either read or counted as lost."""
    audio, each, ticks = timed_audio, 16, 1000
    audio.exec(
        "import emulator, time\nfrom ethosu_audio import Mfcc\n"
        "ring, into, got = ethosu_audio.Ring(256), bytearray(2 * 256), bytearray()\n"
        "work, row = Mfcc(), array('f', bytes(40))\n"
        f"emulator.microphone(ring, {each}, {ticks})\n"
        "end = time.ticks_add(time.ticks_ms(), 1200)\n"
        "while time.ticks_diff(end, time.ticks_ms()) > 0:\n"
        "    work.process(sound[:640], row)\n"
        f"    time.sleep_ms({pause_ms})\n"
        "    got += into[:ring.readinto(into)]\n"
        "    gc.collect()\n",
        timeout=60,
    )
    got = np.frombuffer(audio.eval("bytes(got)"), np.int16)
    lost, overruns = audio.eval("(ring.lost, ring.overruns)")
    assert audio.eval("ring.any()") == 0
    assert np.all(np.diff(got.astype(int) % 65536) > 0), "each sample once, in order"
    whole = np.isin(np.arange(each * ticks), got.astype(int) % 65536).reshape(ticks, each)
    assert (lost, overruns) == (each * ticks - len(got), (~whole.all(axis=1)).sum())
    assert (lost > 1000) if late else lost == 0


def test_an_invalid_microphone_is_rejected(audio):
    audio.exec("import emulator\nring = ethosu_audio.Ring(4)")
    assert raised(audio, "emulator.microphone(5, 1, 1)") == "TypeError expected a Ring"
    assert raised(audio, "emulator.microphone(ring, 257, 1)").startswith("ValueError 257 samples")
    assert raised(audio, "emulator.microphone(ring, 1, 0)").startswith("ValueError 1 samples, 0")


STREAM = (
    "class Stream:\n"
    "    def __init__(self, *answers): self.answers = list(answers)\n"
    "    def readinto(self, buffer):\n"
    "        answer = self.answers.pop(0)\n"
    "        if isinstance(answer, bytes):\n"
    "            buffer[:len(answer)] = answer\n            return len(answer)\n"
    "        return answer\n"
)


def test_a_stream_may_return_half_a_sample_or_nothing(audio):
    audio.exec(
        STREAM + "ring = ethosu_audio.Ring(4)\ns = Stream(b'abc', None, b'defgh', b'')\n"
        "counts = [ring.fill(s), ring.fill(s), ring.fill(s), ring.fill(s)]\n"
        "into = bytearray(8)\nn = ring.readinto(into)"
    )
    assert audio.eval("(counts, n, bytes(into))") == ([1, 0, 3, 0], 8, b"abcdefgh")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("f.process(5, r)", "TypeError samples is of type int, expected a buffer"),
        ("f.process(array('f', [1]), r)", "TypeError samples has typecode 'f', expected 'h'"),
        ("f.process(b'abc', r)", "ValueError samples: 3 bytes"),
        ("f.process(sound, array('b', bytes(40)))", "TypeError rows has typecode 'b', expected '"),
        ("m.process(sound, array('H', bytes(20)))", "TypeError rows has typecode 'H', expected '"),
        ("f.process(sound, array('f', bytes(400)))", "ValueError rows holds 100 numbers, expected"),
        ("f.process(sound, array('f', []))", "ValueError rows holds 0 numbers, expected a mult"),
        ("f.process(sound, bytes(160))", "TypeError rows is of type bytes, expected a writable"),
        ("f.process(sound, r)", "ValueError 24000 samples make 148 rows, rows has room for 1"),
        ("f.rows(-1)", "ValueError samples is -1, expected 0 or more"),
        ("f.gain = 1", "AttributeError"),
        ("ethosu_audio.MicroFrontend(hop=0)", "ValueError MicroFrontend: hop is out of range"),
        ("ethosu_audio.MicroFrontend(hop=481)", "ValueError MicroFrontend: hop is out of ra"),
        ("ethosu_audio.Mfcc(window=-1)", "ValueError Mfcc: window is out of range, 1 to 2048"),
        ("ethosu_audio.Mfcc(window=4)", "ValueError Mfcc: window is out of range"),
        ("ethosu_audio.Mfcc(hop=481)", "ValueError Mfcc: hop is out of range; hop is at most"),
        ("ethosu_audio.Mfcc(coefficients=41)", "ValueError Mfcc: coefficients is out of ra"),
        (
            "ethosu_audio.LogMel(bands=257)",
            "ValueError LogMel: bands is out of range, 1 to 256",
        ),
        ("ethosu_audio.LogMel(high_hz=8001)", "ValueError LogMel: high_hz is out of range"),
        ("ethosu_audio.LogMel(low_hz=float('nan'))", "ValueError LogMel: low_hz is out of ra"),
        ("ethosu_audio.LogMel(coefficients=3)", "TypeError"),
        ("ethosu_audio.Ring(0)", "ValueError size is 0, expected 1 to 2097152"),
        ("ring.write(None)", "TypeError samples is of type NoneType, expected a buffer"),
        ("ring.fill(5)", "AttributeError 'int' object has no attribute 'readinto'"),
        ("ring.fill(Stream(9))", "ValueError the stream's readinto() returned 9, expected 0 to 8"),
        ("ring.fill(Stream(-1))", "ValueError the stream's readinto() returned -1"),
        ("ring.fill(Stream('x'))", "TypeError"),
        ("ring.fill(Stream(), -1)", "ValueError most is -1, expected 0 or more"),
        ("ring.readinto(bytes(2))", "TypeError buffer is of type bytes, expected a writable"),
    ],
)
def test_misuse_is_reported_and_the_next_call_works(audio, code, expected):
    audio.exec(
        STREAM + "f, m = ethosu_audio.MicroFrontend(), ethosu_audio.Mfcc()\n"
        "ring = ethosu_audio.Ring(4)\nr = array('f', bytes(160))\n"
    )
    assert raised(audio, code).startswith(expected)
    assert audio.eval("(f.process(sound[:960], r), ring.write(b'abcd'))") == (1, 2)


def test_every_feature_is_quantised_as_pymicro_wakeword_does_it(board, board_npu, compiled):
    """Tensor.quantize() equals pymicro-wakeword for all values of a 32-bit logarithm."""
    model = wake_words.load("okay_nabu").model
    board.write_file("/word.tflite", compiled(model, board_npu).read_bytes())
    board.exec(
        "import ethosu\nfrom array import array\nm = ethosu.Model('/word.tflite')\nraw = b''\n"
        "for at in range(0, 1440, 120):\n"
        "    m.inputs[0].quantize(array('f', [0.0390625 * i for i in range(at, at + 120)]))\n"
        "    raw += bytes(m.inputs[0].data)\n"
    )
    (tensor,) = oracle.Oracle(model).inputs
    real = np.arange(1440) * 0.0390625 / tensor.scale + tensor.zero_point
    expected = np.clip(np.round(real), -128, 127).astype(np.int8)
    assert np.array_equal(np.frombuffer(board.eval("raw"), np.int8), expected)
    assert len(np.unique(expected)) > 250


COUNT = """\
import emulator, ethosu_audio, gc
from array import array
def count(kind):
    frontend = kind()
    rows = array("f", bytes(4 * frontend.values))
    sound = array("h", [(i * i * 7 + i * 13) % 9001 - 4500 for i in range(frontend.window)])
    frontend.process(sound, rows)
    hop = memoryview(sound)[:frontend.hop]
    least = 1 << 60
    for _ in range(20):
        gc.collect()
        begin = emulator.instructions()
        frontend.process(hop, rows)
        least = min(least, emulator.instructions() - begin)
    return least * 160 // frontend.hop
"""


def test_instructions_of_the_front_ends_are_few(counting):
    """10 ms of sound, 160 samples, take few instructions; `pytest -s` prints the numbers."""
    counting.exec(COUNT)
    names = ("MicroFrontend", "Mfcc", "LogMel")
    counts = {name: counting.eval(f"count(ethosu_audio.{name})", timeout=60) for name in names}
    for name, count in counts.items():
        print(f"\n{name:<14}{count:>8,}, of a CPU at 160 MHz {count / 1.6e6:.3f}", end="")
    # This is far faster than real time on the slowest board, and requires MVE: docs/audio.md.
    assert 10_000 < counts["MicroFrontend"] < 30_000
    assert all(count < 50_000 for count in counts.values())
