# SPDX-License-Identifier: MIT
"""`ml.Model`: real values in, real values out; raw ones for a post-processor."""

from collections.abc import Callable
from typing import Any

import ethosu

class Model(ethosu.Model):
    """A model; `labels` are the lines of the .txt file with its name, else those in the file."""

    postprocess: Callable[..., Any] | None
    """Called with (model, inputs, raw outputs); predict() returns what it returns."""

    def __init__(
        self,
        path: str | Any,
        postprocess: Callable[..., Any] | None = None,
        *,
        load_to_fb: bool = False,
        **options: Any,
    ) -> None:
        """Load a model by its path, or by its name in /rom. `load_to_fb` has no effect."""

    def predict(  # type: ignore[override]  # lists only, as OpenMV has it
        self, inputs: list[Any], *, callback: Callable[..., Any] | None = None
    ) -> Any:
        """Run once; real outputs, or what the callback or post-processor makes of raw ones."""
