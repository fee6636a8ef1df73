# SPDX-License-Identifier: MIT
"""OpenMV's `ml.Model` on the module `ethosu`: `import ethosu_openmv as ml`."""

from collections.abc import Callable, Sequence
from typing import Any

import ethosu

_Post = Callable[[Model, Sequence[Any], list[Any]], Any]

class Model(ethosu.Model):
    """A model whose predict() returns real values."""

    labels: list[str] | None
    """Lines of the text file with the model's name; None: there is none."""

    def __init__(
        self,
        path: str | Any,
        postprocess: _Post | None = None,
        *,
        load_to_fb: bool = False,
        npu: int | str | ethosu.NPU | None = None,
        arena: Any | None = None,
        verify: bool = True,
        timeout_ms: int = 10000,
        method: str | None = None,
        data: str | Any | None = None,
    ) -> None:
        """Load a model; options are those of `ethosu.Model`. `load_to_fb` has no effect."""

    def predict(self, inputs: Sequence[Any], *, callback: _Post | None = None) -> Any:  # type: ignore[override]
        """Run once; real outputs, or what callback or post-processor makes of raw ones.

        Where the firmware has ulab, outputs are its arrays.
        """
