# SPDX-License-Identifier: MIT
"""OpenMV's `ml.Model` on this module: `import ethosu_openmv as ml`, and its scripts run.

Inputs given as floats are real values, quantised for the model; outputs are real values, but raw
ones for a post-processor, which looks at `model.output_scale` and `model.output_zero_point`.
"""

import ethosu


class Model(ethosu.Model):
    """A model whose predict() answers real values; `labels` are the lines of PATH's .txt file."""

    def __init__(self, path, postprocess=None, *, load_to_fb=False, **options):
        """Load a model. `load_to_fb` is taken and of no effect: a ROM file is used in place."""
        super().__init__(path, real=True, **options)
        self.postprocess = postprocess
        self.labels = _labels(path)

    def predict(self, inputs, *, callback=None):
        """Run once; real outputs, or what the callback or post-processor makes of raw ones."""
        after = callback or self.postprocess
        if after is None:
            return super().predict(inputs)
        return after(self, inputs, super().predict(inputs, real=False))


def _labels(path):
    """Lines of the text file beside a model; None: there is none."""
    if not isinstance(path, str):
        return None
    try:
        with open(path.rsplit(".", 1)[0] + ".txt") as file:
            return [line.strip() for line in file]
    except OSError:
        return None
