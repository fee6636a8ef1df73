# SPDX-License-Identifier: MIT
"""`ml.apps.MicroSpeech`: words, from sound, with the models of TensorFlow Lite Micro's example.

The features are those of `ethosu_audio`: the example's preprocessor model, which does the same, has
operators that no kernel here has.
"""

import time
from array import array

from ethosu_audio import MicroFrontend
from ulab import numpy as np

from .model import Model

# 49 slices of 30 ms, 20 ms apart, of 40 features each.
_SLICES, _FEATURES = 49, 40
_SAMPLES, _STEP = 480, 320
_HISTORY = 10


class _Frontend:
    """The example's preprocessor: `predict()` takes the last 480 samples."""

    def __init__(self):
        self.frontend = MicroFrontend(hop=_STEP)
        self.row = array("f", bytes(4 * _FEATURES))
        self.frontend.process(bytes(2 * (_SAMPLES - _STEP)), self.row)

    def predict(self, inputs):
        """Features of samples, of which the first were in the last call, too."""
        self.frontend.process(inputs[0][0, _SAMPLES - _STEP :].tobytes(), self.row)
        return [np.array(self.row)]


class MicroSpeech:
    """Listens; `labels` name the outputs of the model."""

    def __init__(self, preprocessor=None, micro_speech=None, labels=None, **kwargs):
        """`micro_speech`: a model, or None for that in /rom; `preprocessor`: one for features.

        The other arguments go to audio.init().
        """
        self.preprocessor = preprocessor
        self.micro_speech = micro_speech or Model("/rom/micro_speech.tflite")
        self.labels = labels or self.micro_speech.labels
        self.options = kwargs
        self.streaming = False
        self.audio = None
        self._begin()

    def _begin(self):
        """Silence so far."""
        self.features = self.preprocessor or _Frontend()
        self.samples = np.zeros((1, _SAMPLES), dtype=np.int16)
        self._forget()

    def _forget(self):
        """No word so far."""
        self.spectrogram = np.zeros((1, _SLICES * _FEATURES))
        self.history = np.zeros((_HISTORY, len(self.labels)))

    def audio_callback(self, buf):
        """Take 20 ms of sound: 320 samples of 16 bits."""
        new = np.frombuffer(buf, dtype=np.int16)
        if len(new) != _STEP:
            raise ValueError(f"{len(new)} samples given, {_STEP} expected")
        keep = _SAMPLES - _STEP
        self.samples[0, :keep] = self.samples[0, _STEP:]
        self.samples[0, keep:] = new
        self.add_features(self.features.predict([self.samples])[0].flatten())

    def add_features(self, features):
        """Take a slice of 40 features, and run the model."""
        rest = (_SLICES - 1) * _FEATURES
        self.spectrogram[0, :rest] = self.spectrogram[0, _FEATURES:]
        self.spectrogram[0, rest:] = features
        self.history[: _HISTORY - 1] = self.history[1:]
        self.history[_HISTORY - 1] = self.micro_speech.predict([self.spectrogram])[0].flatten()

    def start_audio_streaming(self):
        """Begin to listen to the board's microphone: its module `audio`."""
        if self.streaming:
            return
        import audio

        self._begin()
        self.audio = audio
        options = {"channels": 1, "frequency": 16000, "samples": _STEP}
        options.update(self.options)
        audio.init(**options)
        audio.start_streaming(self.audio_callback)
        self.streaming = True

    def stop_audio_streaming(self):
        """End listening."""
        if self.streaming:
            self.audio.stop_streaming()
            self.streaming = False

    def listen(self, timeout=0, callback=None, threshold=0.65, filter=("Yes", "No")):
        """Wait for a word of `filter`: (label, average scores).

        timeout: milliseconds; 0 waits for ever, -1 does not wait. With a callback(label, scores),
        go on listening, and call it for each word. (None, scores): no word came.
        """
        self.start_audio_streaming()
        begun = time.ticks_ms()
        while True:
            scores = np.mean(self.history, axis=0)
            best = int(np.argmax(scores))
            label = self.labels[best]
            if scores[best] > threshold and label in filter:
                self._forget()
                if callback is None:
                    return label, scores
                callback(label, scores)
            late = timeout > 0 and time.ticks_diff(time.ticks_ms(), begun) >= timeout
            if timeout == -1 or late:
                return None, scores
            time.sleep_ms(1)
