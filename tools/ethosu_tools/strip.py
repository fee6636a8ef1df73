# SPDX-License-Identifier: MIT
"""Strips a program and checks that the outputs stay the same."""

import numpy as np

from . import arrays, executorch, models
from .errors import MismatchError
from .sim import Simulation

_STEPS = 2


def strip_checked(data: bytes, named: bytes | None = None) -> bytes:
    """Strip a program with `executorch.strip`; `named` is the program's data file.

    Raises MismatchError unless the outputs on random inputs stay the same.
    """
    result = executorch.strip(data)
    if result != data and _outputs(data, named) != _outputs(result, named):
        raise MismatchError("the stripped program computes different outputs")
    return result


def _outputs(data: bytes, named: bytes | None) -> list[bytes]:
    inputs = models.describe(data, named=named).inputs
    random = np.random.default_rng(0)
    with Simulation(data, data=named) as simulation:
        return [
            array.tobytes()
            for _ in range(_STEPS)
            for array in simulation.step(arrays.random_inputs(inputs, random))
        ]
