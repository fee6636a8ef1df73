# SPDX-License-Identifier: MIT
"""Listen for wake words: MicroPython, to run on the board.

    import ethosu, ethosu_audio
    from ethosu_files import Wav
    from listen import Word, listen

    words = [Word("okay_nabu", ethosu.Model("/rom/okay_nabu.tflite"), cutoff=0.85, window=5)]
    with Wav("/rom/okay_nabu.wav") as sound:
        listen(ethosu_audio.MicroFrontend(), ethosu_audio.Ring(4096), words, sound)

`sound` is anything with readinto() that returns 16-bit samples at 16 kHz: a file, or machine.I2S.
One front end makes a row of features every 10 ms, for any number of models.
"""

from array import array

SAMPLES_AT_ONCE = 480
STEP = 0.0390625  # features are multiples of it


class Word:
    """A model; the word is detected if the mean of the last `window` outputs exceeds `cutoff`."""

    def __init__(self, name, model, cutoff, window):
        self.name, self.model, self.cutoff, self.window = name, model, cutoff, window
        _, self.rows, self.values = model.input_shape[0]
        self.input = array("f", bytes(4 * self.rows * self.values))
        self.recent = []
        self.taken = self.raw = 0
        self.mean = 0.0
        self.detected = None

    @property
    def seconds(self):
        """The duration of the sound processed so far; a row of features is 10 ms."""
        return self.taken / 100

    def take(self, row):
        """Process one row of features; returns True if the model has run."""
        at = self.taken % self.rows * self.values
        self.input[at : at + self.values] = row
        self.taken += 1
        if self.taken % self.rows:
            return False
        self.raw = self.model.predict([self.input])[0][0]
        scale, zero_point = self.model.output_scale[0], self.model.output_zero_point[0]
        self.recent.append((self.raw - zero_point) * scale)
        self.recent = self.recent[-self.window :]
        full = len(self.recent) == self.window
        self.mean = sum(self.recent) / self.window if full else 0.0
        if self.detected is None and self.mean > self.cutoff:
            self.detected = self.seconds
        return True


def show(frontend, ring, sound, say=print):
    """Process all of `sound`; print each row of features in a line, as numbers of four digits."""
    row = array("f", bytes(4 * frontend.values))
    while ring.fill(sound, SAMPLES_AT_ONCE) or ring.any():
        while frontend.process(ring, row):
            say("".join(f"{int(value / STEP + 0.5):04x}" for value in row))


def listen(frontend, ring, words, sound, say=print):
    """Process all of `sound`; print a line per inference, and one per word at the end."""
    row = array("f", bytes(4 * frontend.values))
    while ring.fill(sound, SAMPLES_AT_ONCE) or ring.any():
        while frontend.process(ring, row):
            for word in words:
                if word.take(row):
                    say(f"{word.seconds:.2f} s  {word.name}  raw {word.raw}  mean {word.mean:.3f}")
    for word in words:
        end = f"detected at {word.detected:.2f} s" if word.detected else "not detected"
        say(f"{word.name} {end}")
