# SPDX-License-Identifier: MIT
"""Wake word, then a command: a small state machine to copy.

While it waits, one model listens for "okay nabu". The next second of sound goes to the keyword
model of MLPerf Tiny, then it waits again. Sound comes from any object with readinto(): a file here,
machine.I2S on your board.
"""

from array import array

import ethosu
from ethosu_audio import RATE, Mfcc, MicroFrontend, Ring
from ethosu_files import Wav

WORDS = (
    "down",
    "go",
    "left",
    "no",
    "off",
    "on",
    "right",
    "stop",
    "up",
    "yes",
    "silence",
    "unknown",
)


class Wake:
    """Waits for the wake word: detected if the mean of the last outputs is above the cutoff."""

    def __init__(self, model, cutoff=0.85, window=5):
        self.model, self.cutoff = model, cutoff
        self.frontend = MicroFrontend()
        self.rows = array("f", bytes(4 * 3 * self.frontend.values))  # the model takes three
        self.answers = array("f", bytes(4 * window))

    def start(self):
        """Forget what was heard."""
        self.frontend.reset()
        self.model.reset()
        self.have = self.count = 0
        for i in range(len(self.answers)):
            self.answers[i] = 0.0

    def take(self, ring):
        """Process the sound in the ring; "wake" when the word is detected."""
        values = self.frontend.values
        while made := self.frontend.process(ring, memoryview(self.rows)[self.have * values :]):
            self.have = (self.have + made) % 3
            if self.have:
                continue
            self.model.inputs[0].quantize(self.rows)
            self.model.run_into()
            answer = self.model.outputs[0].data[0] * self.model.output_scale[0]
            self.answers[self.count % len(self.answers)] = answer
            self.count += 1
            if sum(self.answers) > self.cutoff * len(self.answers):
                return "wake"
        return None


class Command:
    """Records a second of sound, then classifies the word in it."""

    def __init__(self, model):
        self.model = model
        self.frontend = Mfcc()
        self.sound = array("h", bytes(2 * RATE))
        self.rows = array("f", bytes(4 * self.frontend.values * self.frontend.rows(RATE)))

    def start(self):
        """Forget what was heard."""
        self.have = 0

    def take(self, ring):
        """Process the sound in the ring; the word after a full second."""
        self.have += ring.readinto(memoryview(self.sound)[self.have :]) // 2
        if self.have < RATE:
            return None
        self.frontend.reset()
        self.frontend.gain = 1 / max(1, max(self.sound))  # as the model was trained
        self.frontend.process(self.sound, self.rows)
        self.model.inputs[0].quantize(self.rows)
        self.model.run_into()
        scores = self.model.outputs[0].data
        return WORDS[max(range(len(WORDS)), key=lambda i: scores[i])]


def listen(states, sound, say=print):
    """Each state processes sound until it has a result; then the next state continues."""
    ring = Ring(4096)
    state = 0
    states[state].start()
    while ring.fill(sound, 480) or ring.any():
        heard = states[state].take(ring)
        if heard:
            say(heard)
            state = (state + 1) % len(states)
            states[state].start()


wake = Wake(ethosu.Model("/rom/okay_nabu.tflite"))
command = Command(ethosu.Model("/rom/kws.tflite"))
with Wav("/rom/speech.wav") as sound:
    listen([wake, command], sound)
