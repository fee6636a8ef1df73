# SPDX-License-Identifier: MIT
"""OpenMV's `ml.Model` on this module: `import ethosu_openmv as ml`, and its scripts run.

Inputs given as floats are real values, quantised for the model; outputs are real values, but raw
ones for a post-processor, which uses `model.output_scale` and `model.output_zero_point`. Where
the firmware has ulab, outputs are its arrays.
"""

import ethosu

try:
    from ulab import numpy as np
except ImportError:
    np = None


class Model(ethosu.Model):
    """A model whose predict() returns real values; `labels` are the lines of PATH's .txt file."""

    def __init__(self, path, postprocess=None, *, load_to_fb=False, **options):
        """Load a model. `load_to_fb` has no effect: a ROM file is used in place."""
        super().__init__(path, real=True, **options)
        self.postprocess = postprocess
        self.labels = _labels(path)

    def predict(self, inputs, *, callback=None):
        """Run once; real outputs, or what the callback or post-processor makes of raw ones."""
        after = callback or self.postprocess
        outputs = super().predict(inputs, real=after is None)
        if np is not None:
            codes = self.output_dtype if after else "f" * len(outputs)
            ends = zip(outputs, codes, self.output_shape)  # noqa: B905  (MicroPython's)
            outputs = [_shaped(*each) for each in ends]
        return outputs if after is None else after(self, inputs, outputs)


def _shaped(values, code, shape):
    """An array of ulab; flat when the firmware's ulab has not so many dimensions."""
    kinds = {"b": np.int8, "B": np.uint8, "h": np.int16, "H": np.uint16}
    shaped = np.array(values, dtype=kinds.get(code, np.float))
    try:
        return shaped.reshape(shape)
    except ValueError:
        return shaped


def _labels(path):
    """Lines of the text file with a model's name; None: there is none."""
    if not isinstance(path, str):
        return None
    try:
        with open(path.rsplit(".", 1)[0] + ".txt") as file:
            return [line.strip() for line in file]
    except OSError:
        return None
