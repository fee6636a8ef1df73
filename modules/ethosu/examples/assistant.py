# SPDX-License-Identifier: MIT
"""Wake word, then a command: a small state machine to copy.

While it waits, one model listens for "okay nabu". Then the next second of sound goes to the keyword
model of MLPerf Tiny, and it waits again. Sound comes from anything with readinto(): here a file, on
your board machine.I2S.
"""

from array import array

import ethosu
from ethosu_audio import RATE, Mfcc, MicroFrontend, Ring

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
    """Waits: heard when the mean of the last answers is above the cutoff."""

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
        """Take what the ring has; "wake" when the word was heard."""
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
    """Takes a second of sound, then names the word in it."""

    def __init__(self, model):
        self.model = model
        self.frontend = Mfcc()
        self.sound = array("h", bytes(2 * RATE))
        self.rows = array("f", bytes(4 * self.frontend.values * self.frontend.rows(RATE)))

    def start(self):
        """Forget what was heard."""
        self.have = 0

    def take(self, ring):
        """Take what the ring has; the word when a second is full."""
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
    """Each state takes sound until it has something to say; then the next one does."""
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
with open("/rom/speech.pcm", "rb") as sound:
    listen([wake, command], sound)
