# SPDX-License-Identifier: MIT
"""The files of the page's readers."""

from pathlib import Path

PROGRAMS, INSTALLED = {}, {}
# Written like OpenMV's examples, but not endless.
SCRIPT = """
import csi, ml, time
csi0 = csi.CSI()
csi0.framesize(csi.QVGA)
clock = time.clock()
model = ml.Model("/rom/MODEL.tflite")
for width, height in (30, 20), (320, 240):
    clock.tick()
    img = csi0.snapshot()
    raw = model.predict([img], callback=lambda model, inputs, outputs: bytes(outputs[0]))
    assert (img.width(), img.height(), len(raw)) == (width, height, 10) and clock.fps() > 0
"""


def write(path: Path) -> None:
    """The script, and frames for its camera."""
    path.write_text(SCRIPT)
    frames = path.parent / "rom/frames"
    frames.mkdir(parents=True)
    for name, (height, width) in (("1.pgm", (20, 30)), ("2.pgm", (300, 400))):
        (frames / name).write_bytes(b"P5 %d %d 255\n" % (width, height) + bytes(height * width))


READERS = {"SCRIPT.py": write}
