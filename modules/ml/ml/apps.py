# SPDX-License-Identifier: MIT
"""`ml.apps.MicroSpeech`: recognises words with the models of TensorFlow Lite Micro's example.

`ethosu_audio` computes the features, because no kernels here support the operators of the example's
preprocessor model, which computes the same.
"""

import time
from array import array

from ethosu_audio import MicroFrontend
from ulab import numpy as np

from .model import Model

try:
    import audio
except ImportError:
    audio = None  # audio_callback() accepts sound from any source

_RATE = 16000
# The model takes 49 slices of 40 features; a slice is 30 ms of sound, and they start 20 ms apart.
_SLICES, _FEATURES = 49, 40
_SAMPLES, _STEP = 480, 320
# A score is the mean of so many predictions.
_HISTORY = 34


class _Frontend:
    """Replaces the example's preprocessor: `predict()` takes the last 480 samples."""

    def __init__(self):
        self.frontend = MicroFrontend(hop=_STEP)
        self.row = array("f", bytes(4 * _FEATURES))
        self.frontend.process(bytes(2 * (_SAMPLES - _STEP)), self.row)

    def predict(self, inputs):
        """Features of samples, the first of which were also in the previous call."""
        self.frontend.process(inputs[0][0, _SAMPLES - _STEP :].tobytes(), self.row)
        return [np.array(self.row)]


class MicroSpeech:
    """Recognises words; `labels` are the names of the model's outputs."""

    def __init__(
        self,
        preprocessor=None,
        micro_speech: Model | None = None,
        labels: list[str] | tuple[str, ...] | None = None,
        **kwargs,
    ) -> None:
        """`micro_speech`: a model, None for the one in /rom; `preprocessor`: a model for features.

        The other arguments go to audio.init().
        """
        self.preprocessor = preprocessor or _Frontend()
        self.micro_speech = micro_speech or Model("/rom/micro_speech.tflite")
        self.labels = labels or self.micro_speech.labels
        self.audio_buffer = np.zeros((1, _SAMPLES), dtype=np.int16)
        self.spectrogram = np.zeros((1, _SLICES * _FEATURES))
        self.pred_history = np.zeros((_HISTORY, len(self.labels)))
        self.audio_started = False
        if audio is not None:
            audio.init(channels=1, frequency=_RATE, samples=_STEP, **kwargs)

    def _forget(self):
        """Forget the sound so far."""
        self.spectrogram[:] = 0
        self.pred_history[:] = 0

    def audio_callback(self, buf) -> None:
        """Process 20 ms of sound: 320 samples of 16 bits."""
        new = np.frombuffer(buf, dtype=np.int16)
        if len(new) != _STEP:
            raise ValueError(f"{len(new)} samples given, expected {_STEP}")
        keep = _SAMPLES - _STEP
        self.audio_buffer[0, :keep] = self.audio_buffer[0, _STEP:]
        self.audio_buffer[0, keep:] = new
        self.add_features(self.preprocessor.predict([self.audio_buffer])[0].flatten())

    def add_features(self, features) -> None:
        """Add a slice of 40 features, and run the model."""
        rest = (_SLICES - 1) * _FEATURES
        self.spectrogram[0, :rest] = self.spectrogram[0, _FEATURES:]
        self.spectrogram[0, rest:] = features
        self.pred_history[: _HISTORY - 1] = self.pred_history[1:]
        self.pred_history[_HISTORY - 1] = self.micro_speech.predict([self.spectrogram])[0].flatten()

    def start_audio_streaming(self) -> None:
        """Start listening to the board's microphone, by its module `audio`."""
        if self.audio_started:
            return
        if audio is None:
            raise ImportError("no module named 'audio': this board has no microphone")
        self._forget()
        audio.start_streaming(self.audio_callback)
        self.audio_started = True

    def stop_audio_streaming(self) -> None:
        """Stop listening."""
        if self.audio_started:
            audio.stop_streaming()
            self.audio_started = False

    def listen(
        self, timeout: int = 0, callback=None, threshold: float = 0.65, filter=("Yes", "No")
    ) -> tuple[str | None, np.ndarray]:
        """Wait for a word of `filter`: (label, average scores), or (None, scores).

        timeout: milliseconds; 0 waits forever; -1 does not wait, and continues to listen between
        calls. Otherwise listening stops on return. With a callback(label, scores), continue, and
        call it for each word.
        """
        self.start_audio_streaming()
        begun = time.ticks_ms()
        while True:
            scores = np.mean(self.pred_history, axis=0)
            best = int(np.argmax(scores))
            label = self.labels[best]
            found = scores[best] > threshold and label in filter
            if found:
                self._forget()
                if callback is not None:
                    callback(label, scores)
                    found = False
            late = timeout > 0 and time.ticks_diff(time.ticks_ms(), begun) > timeout
            if timeout != -1 and (found or late):
                self.stop_audio_streaming()
            if timeout == -1 or found or late:
                return label if found else None, scores
            time.sleep_ms(1)
