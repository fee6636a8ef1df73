# SPDX-License-Identifier: MIT
"""From samples to what a wake-word model takes: 40 numbers for each 10 ms of sound."""

from __future__ import annotations

import numpy as np

from .. import other_python
from ..arrays import Array
from ..errors import InputError, SetupError
from ..model.graph import Tensor
from .speech import RATE

BANDS = 40
SECONDS_PER_ROW = 0.01


def from_samples(samples: Array) -> Array:
    """The rows that pymicro-wakeword itself would feed to its models, as float32."""
    try:
        from pymicro_wakeword import MicroWakeWordFeatures
    except ImportError:
        raise SetupError(
            f"the package pymicro-wakeword is not installed; run: {other_python.install('demo')}"
        ) from None

    rows = [
        row.reshape(BANDS) for row in MicroWakeWordFeatures().process_streaming(samples.tobytes())
    ]
    if not rows:
        raise InputError(f"{len(samples) / RATE:.3f} s of sound are too short for the demo")
    return np.array(rows, np.float32)


def steps(rows: Array, tensor: Tensor) -> Array:
    """The model's raw inputs, one per inference: whole groups of rows, quantised."""
    size = tensor.shape[1]
    count = len(rows) // size
    if count == 0:
        raise InputError(f"the sound gives {len(rows)} rows, but one inference takes {size}")
    return raw(rows[: count * size], tensor).reshape(count, *tensor.shape)


def raw(rows: Array, tensor: Tensor) -> Array:
    """Quantised as pymicro-wakeword does it: rounded to nearest, in double precision."""
    limits = np.iinfo(tensor.dtype)
    real = rows.astype(np.float64) / tensor.scale + tensor.zero_point
    return np.clip(np.round(real), limits.min, limits.max).astype(tensor.dtype)
