# SPDX-License-Identifier: MIT
"""OpenMV's `ml.Model` on this module: `import ethosu_openmv as ml`, and its scripts run.

Inputs given as floats are real values, quantised for the model; outputs are real values, but raw
ones for a post-processor, which looks at `model.output_scale` and `model.output_zero_point`.
"""

import ethosu


def Model(path, *, postprocess=None, **options):  # noqa: N802  (OpenMV's name)
    """Load a model: its predict() answers real values."""
    return ethosu.Model(path, real=True, postprocess=postprocess, **options)
