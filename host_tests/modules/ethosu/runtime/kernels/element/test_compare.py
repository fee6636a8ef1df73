# SPDX-License-Identifier: MIT
"""Comparisons of int16 with two scales compare the real numbers.

TFLite's kernels cannot be the reference: LESS and the like compare the numbers without their
scales, and so do EQUAL and NOT_EQUAL in LiteRT 1.2.0; in 2.3.0 these two round to 1/256. A product
of an int16 number and a scale is exact in double precision, so NumPy compares the real numbers. The
NPU, which rounds one side, is compared with them in test_compare_u85.py of conformance/generator.
"""

import numpy as np
import pytest

from .. import plan_writer, runner
from ..maker import Maker

REAL = {
    kind: getattr(np, kind.lower())
    for kind in ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
}
SCALES = [
    *((0.02, 0.01), (0.01, 0.02), (0.0123, 0.0456), (1 / 32768, 0.7 / 32768), (0.5, 0.5)),
    *((1e-3, 1e3), (3e-38, 2e38), (2e38, 1e-40), (1e-40, 3e-41), (2.0**-20, 2.0**19)),
]


def pairs(scales):
    """Return all pairs of some numbers, and numbers that are nearly or exactly equal."""
    random = np.random.default_rng(1)
    some = [*range(-3, 4), 32767, -32768, *random.integers(-32768, 32768, 20)]
    x, y = (grid.ravel() for grid in np.meshgrid(some, some))
    near = random.integers(-32768, 32768, 4000)
    other = np.rint(near * (scales[0] / scales[1])) + random.integers(-1, 2, near.shape)
    fits = np.abs(other) < 32768
    rows = np.append(x, near[fits]), np.append(y, other[fits])
    return [row.astype(np.int16)[None] for row in rows]


@pytest.mark.parametrize("scales", SCALES)
def test_int16_is_compared_as_real_numbers(run_cases, tmp_path, scales):
    given = pairs([float(np.float32(scale)) for scale in scales])
    real = [row.astype(float) * np.float32(scale) for row, scale in zip(given, scales, strict=True)]
    batch = []
    for kind in REAL:
        maker = Maker(np.random.default_rng(2))
        inputs = [maker.input(given[0].shape, "int16", scale, 0) for scale in scales]
        options = "".join(word.title() for word in kind.split("_")) + "Options"
        maker.operator(kind, inputs, [maker.output(given[0].shape, "bool")], options)
        batch.append((plan_writer.add_plan(maker.finish().model), [given]))
    for result, wanted in zip(runner.run(run_cases, tmp_path, batch), REAL.values(), strict=True):
        assert result.status == 0, result.text
        assert result.data == wanted(*real).tobytes()
    assert np.equal(*real).sum() > 0
