# SPDX-License-Identifier: MIT
"""`ml.apps.MicroSpeech`: words, from sound, with the models of TensorFlow Lite Micro's example.

The features are those of `ethosu_audio`: the example's preprocessor model, which does the same, has
operators that no kernel here has.
"""

from collections.abc import Callable, Sequence
from typing import Any

from .model import Model

class MicroSpeech:
    """Listens; `labels` name the outputs of the model."""

    def __init__(
        self,
        preprocessor: Any = None,
        micro_speech: Model | None = None,
        labels: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        """`micro_speech`: a model, or None for that in /rom; `preprocessor`: one for features.

        The other arguments go to audio.init().
        """

    def audio_callback(self, buf: Any) -> None:
        """Take 20 ms of sound: 320 samples of 16 bits."""

    def add_features(self, features: Any) -> None:
        """Take a slice of 40 features, and run the model."""

    def start_audio_streaming(self) -> None:
        """Begin to listen to the board's microphone: its module `audio`."""

    def stop_audio_streaming(self) -> None:
        """End listening."""

    def listen(
        self,
        timeout: int = 0,
        callback: Callable[..., Any] | None = None,
        threshold: float = 0.65,
        filter: Sequence[str] = ...,
    ) -> tuple[str | None, Any]:
        """Wait for a word of `filter`: (label, average scores), or (None, scores).

        timeout: milliseconds; 0 waits for ever, -1 does not wait, and goes on listening between
        calls; with others listening ends when this returns. With a callback(label, scores), go on,
        and call it for each word.
        """
