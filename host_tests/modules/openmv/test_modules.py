# SPDX-License-Identifier: MIT
"""csi, image, audio and time.clock work on a board with files instead of a camera."""

import io
import struct
import wave

import numpy as np
import pytest
from ethosu_tools.addons.openmv import modules
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.board import QemuBoard
from ethosu_tools.link.emulator.qemu import Machine
from ethosu_tools.model import romfs

from host_tests.kit.board_models import raised
from host_tests.modules.ethosu.image import definition
from host_tests.modules.ethosu.image.definition import CORNERS, GRAY, RGB565, Case

RNG = np.random.default_rng(27)
COLOR = RNG.integers(0, 256, (21, 33, 2), np.uint8)
OTHER = RNG.integers(0, 256, (30, 40, 2), np.uint8)
GREY = RNG.integers(0, 256, (20, 30, 1), np.uint8)
SOUND = RNG.integers(-32768, 32768, 1000).astype("<i2")


def bmp(pixels, *, upwards, bits=16):
    """Write pixels of RGB565, with rows padded to four bytes."""
    height, width, _ = pixels.shape
    rows = [row.tobytes() + bytes(-row.nbytes % 4) for row in pixels]
    head = struct.pack("<IIiiHHI", 66, 40, width, height if upwards else -height, 1, bits, 3)
    masks = struct.pack("<IiiIIIII", 0, 0, 0, 0, 0, 0xF800, 0x07E0, 0x001F)
    return b"BM" + bytes(8) + head + masks + b"".join(rows[::-1] if upwards else rows)


def wav(rate=16000):
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", ""))
        file.writeframes(SOUND.tobytes())
    return content.getvalue()


@pytest.fixture(scope="module")
def camera(board_npu, compiled, small_models):
    """Return a board whose /rom was created by `ethosu qemu --openmv`."""
    tree = {
        "frames": {
            "1.bmp": bmp(COLOR, upwards=True),
            "2.bmp": bmp(OTHER, upwards=False),
            "3.pgm": b"P5\n# grey\n30 20\n255\n" + GREY.tobytes(),
        },
        "deep": {"1.bmp": bmp(COLOR, upwards=True, bits=24)},
        "short": {"1.bmp": bmp(COLOR, upwards=True)[:-1], "2.pgm": b"P5 3 3 255 12345678"},
        "wrong": {
            "1.pgm": b"P5 3 x",
            "2.pgm": b"P5\n# no end",
            "3.pgm": b"P5 0 0 255 ",
            "4.bmp": bmp(COLOR[:0], upwards=True),
        },
        "model.tflite": compiled(small_models["small_cnn"], board_npu).read_bytes(),
        "sound.wav": wav(),
        "fast.wav": wav(44100),
    }
    with QemuBoard(
        Machine(emulated(npu=board_npu), romfs=romfs.build(modules.tree_of(tree)))
    ) as board:
        board.exec("import csi, image, audio, time, gc")
        yield board


def frame(board, code="c.snapshot()"):
    width, height, depth, data = board.eval(
        f"(lambda i: (i.width(), i.height(), i.format(), bytes(i.bytearray())))({code})"
    )
    return np.frombuffer(data, np.uint8).reshape(height, width, depth)


def test_frames_come_in_order_and_again(camera):
    camera.exec("c = csi.CSI()")
    assert (frame(camera) == COLOR).all()
    assert (frame(camera) == OTHER).all()
    grey = GREY.astype(int)
    color = np.concatenate([(grey & 0xF8) << 8 | (grey & 0xFC) << 3 | grey >> 3], 2)
    assert (frame(camera).view("<u2") == color).all()
    assert (frame(camera, "c.snapshot(frames=1, time=2000)") == OTHER).all()
    camera.exec("c.reset()")
    assert (frame(camera) == COLOR).all()


def test_grey_frames(camera):
    camera.exec("c = csi.CSI(); c.pixformat(csi.GRAYSCALE)")
    found = definition.channels(COLOR, RGB565, 1).astype(np.uint8)
    assert (frame(camera) == found).all()
    assert (frame(camera, "c.snapshot(frames=1)") == GREY).all()


def test_a_window_is_the_middle_or_a_part(camera):
    camera.exec("c = csi.CSI(); c.framesize((20, 11))")
    assert (frame(camera) == COLOR[5:16, 6:26]).all()
    camera.exec("c.reset(); c.framesize(csi.VGA); c.window((9, 50))")
    assert (frame(camera) == COLOR[:, 12:21]).all()
    camera.exec("c.reset(); c.window((30, 2, 100, 4))")
    assert (frame(camera) == COLOR[2:6, 30:]).all()
    assert camera.eval("(c.width(), c.height(), c.window())") == (3, 4, (30, 2, 100, 4))
    assert raised(camera, "c.window((40, 2, 9, 4)); c.snapshot()").startswith("ValueError window")


def test_wrong_frames_are_named(camera):
    assert raised(camera, "csi.CSI('/rom/none')").startswith("OSError 19 no camera: /rom/none has")
    found = raised(camera, "csi.CSI(folder='/rom/deep').snapshot()")
    assert found == "ValueError /rom/deep/1.bmp has 24 bits per pixel, expected 16-bit RGB565"
    for name in ("1.bmp", "2.pgm"):
        assert "ends before its last line" in raised(camera, f"image.Image('/rom/short/{name}')")
    for name in ("1.pgm", "2.pgm", "3.pgm", "4.bmp"):
        path = f"/rom/wrong/{name}"
        assert raised(camera, f"image.Image({path!r})").startswith(f"ValueError {path} is ")
    assert raised(camera, "image.Image('/rom/sound.wav')").startswith("ValueError /rom/sound.wav")
    assert raised(camera, "csi.CSI().pixformat(9)").startswith("ValueError pixformat is 9")


def drawn(board, code):
    """Return the pixels that a call draws in white on a black greyscale picture."""
    board.exec(
        f"i = image.Image(40, height=30, pixformat=image.GRAYSCALE, buffer=bytearray(1200))\n{code}"
    )
    return frame(board, "i")[..., 0] == 255


def test_shapes(camera):
    ys, xs = np.mgrid[:30, :40]
    inside = (xs >= 5) & (xs < 15) & (ys >= 4) & (ys < 10)
    core = (xs >= 7) & (xs < 13) & (ys >= 6) & (ys < 8)
    for call in ("(5, 4, 10, 6), fill=True", "5, 4, 10, 6, 255, 1, True"):
        assert (drawn(camera, f"i.draw_rectangle({call})") == inside).all()
    frame_of_two = drawn(camera, "i.draw_rectangle((5, 4, 10, 6), (255, 255, 255), thickness=2)")
    assert (frame_of_two == inside & ~core).all()
    assert (drawn(camera, "i.set_pixel((3, 2), 255)") == (xs == 3) & (ys == 2)).all()
    line = drawn(camera, "i.draw_line((2, 3, 30, 3), thickness=3)")
    assert (line == (xs >= 2) & (xs <= 30) & (abs(ys - 3) <= 1)).all()
    disc = drawn(camera, "i.draw_circle((20, 15, 8), fill=True)")
    far = np.hypot(xs - 20, ys - 15)
    assert disc[far < 7.5].all() and not disc[far > 8.6].any()
    ring = drawn(camera, "i.draw_circle(20, 15, 8)")
    assert not ring[far < 6.5].any() and (ring & disc).sum() == ring.sum() > 30


def test_letters_are_scaled(camera):
    small = drawn(camera, "i.draw_string((1, 2), 'Ab')")
    large = drawn(camera, "i.draw_string(1, 2, 'Ab', (255, 255, 255), scale=2)")
    assert small.any() and not small[:2].any()
    assert (large[2:18, 1:33] == small[2:10, 1:17].repeat(2, 0).repeat(2, 1)).all()
    assert raised(camera, "i.draw_string((1, 2), 'A', size=3)").startswith("TypeError")
    assert raised(camera, "i.draw_circle((1, 2, 3), colour=3)").startswith("TypeError unknown")


def test_colours_and_a_saved_picture(camera):
    camera.exec(
        "i = image.Image('/rom/frames/1.bmp')\n"
        "i.set_pixel(0, 0, (255, 128, 8)); i.save('/a.bmp'); grey = i.to_grayscale()\n"
        "grey.save('/a.pgm'); j = image.Image('/a.bmp'); k = image.Image('/a.pgm')"
    )
    assert camera.eval("i.get_pixel(0, 0)") == (255, 130, 8)
    assert camera.read_file("/a.bmp")[66:] == bmp(frame(camera, "i"), upwards=False)[66:]
    assert camera.eval("i.bytearray() == j.bytearray() and k.bytearray() == grey.bytearray()")


def test_a_crop_outside_is_refused(camera):
    camera.exec("i = image.Image('/rom/frames/2.bmp')")
    assert (frame(camera, "i.crop(roi=(3, 4, 5, 6))") == OTHER[4:10, 3:8]).all()
    assert raised(camera, "i.crop(roi=(36, 4, 5, 6))").startswith("ValueError roi")
    camera.exec("old = image.Image(5, 6, image.RGB565)\nnew = i.crop(roi=(3, 4, 5, 6), into=old)")
    assert camera.eval("new is old") and (frame(camera, "old") == OTHER[4:10, 3:8]).all()
    assert camera.eval("i.crop(roi=(3, 4, 6, 5), into=old) is not old")


def test_sound_is_the_file_and_then_silence(camera):
    camera.exec(
        "pieces = []\naudio.init(channels=1, frequency=16000, samples=320)\n"
        "audio.start_streaming(lambda piece: pieces.append(bytes(piece)))\n"
        "while len(pieces) < 5: time.sleep_ms(1)\n"
        "audio.stop_streaming()",
        timeout=30,
    )
    wanted = SOUND.tobytes().ljust(5 * 640, b"\0")
    assert b"".join(camera.eval("pieces")[:5]) == wanted


def test_sound_of_another_kind_is_refused(camera):
    camera.exec("audio.PATH = '/rom/fast.wav'")
    found = raised(camera, "audio.init(channels=1, frequency=16000, samples=320)")
    assert found == ("ValueError /rom/fast.wav has 1 channels at 44100 Hz, expected 1 at 16000")
    camera.exec("audio.PATH = '/rom/none.wav'")
    found = "OSError 19 no microphone: /rom/none.wav does not exist"
    assert raised(camera, "audio.init()") == found
    camera.exec("audio.PATH = '/rom/model.tflite'")
    assert raised(camera, "audio.init()") == "ValueError /rom/model.tflite is not a WAVE file"
    assert raised(camera, "audio.start_streaming(print)").startswith("RuntimeError audio.init")
    camera.exec("audio.PATH = '/rom/sound.wav'")
    assert raised(camera, "audio.init(samples=1 << 27)").startswith("MemoryError")
    assert raised(camera, "audio.start_streaming(print)").startswith("RuntimeError audio.init")


def test_clock(camera):
    camera.exec(
        "c = time.clock(); c.tick(); c.begun -= 100; a = c.avg(); c.tick(); c.begun -= 300\n"
        "f = c.fps()"
    )
    first, rate, frames, spent = camera.eval("(a, f, c.frames, c.spent)")
    assert first >= 100 and frames == 2 and spent >= 400 and rate == pytest.approx(2000 / spent)
    assert camera.eval("(c.reset(), c.frames, time.ticks_diff(5, 3))") == (None, 0, 2)


# A script in the style of OpenMV's examples.
SCRIPT = """
import csi, ml, time
csi0 = csi.CSI()
csi0.reset()
csi0.pixformat(csi.RGB565)
csi0.framesize(csi.QVGA)
csi0.window((20, 20))
def keep(model, inputs, outputs): return bytes(outputs[0]), inputs[0].roi
model = ml.Model("/rom/model.tflite", postprocess=keep)
clock = time.clock()
clock.tick()
img = csi0.snapshot()
raw, roi = model.predict([img])
ml.utils.draw_predictions(img, [(2, 12, 9, 7)], ("a",), ((255, 0, 0),), format=None)
ml.utils.draw_skeleton(img, [(1, 1, 0.5), (9, 5, 0.5)], ((0, 1),), kp_radius=0)
print(clock.fps(), "fps")
"""


def test_a_script_of_openmvs_kind(camera, example):
    assert camera.exec(SCRIPT).endswith("fps\r\n")
    case = Case(COLOR[:20, 6:26], RGB565, (16, 16, 3), filter=CORNERS)
    seen = (definition.write(case) ^ 128).view(np.int8)
    raw, roi = camera.eval("(raw, roi)")
    assert raw == example[0].step([seen[None]])[0].tobytes() and roi == (0, 0, 20, 20)
    pixels = frame(camera, "img").view("<u2")[..., 0]
    assert pixels[12, 2] == pixels[18, 10] == 0xF800 and pixels[1, 1] == 0x07E0


def test_grey_is_a_grey_picture_for_a_model_of_colour(camera, example):
    camera.exec(
        "import ml\ni = image.Image('/rom/frames/3.pgm')\n"
        "m = ml.Model('/rom/model.tflite', postprocess=keep)"
    )
    case = Case(GREY, GRAY, (16, 16, 3), filter=CORNERS)
    seen = (definition.write(case) ^ 128).view(np.int8)
    wanted = example[0].step([seen[None]])[0].tobytes()
    assert camera.eval("m.predict([i])[0]") == wanted
