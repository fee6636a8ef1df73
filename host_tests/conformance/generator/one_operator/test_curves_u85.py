# SPDX-License-Identifier: MIT
"""LOGISTIC and TANH on Ethos-U85 with Vela's tables are exact for every input."""

import numpy as np
import pytest
from ethosu_tools.sim.oracle import REFERENCE, Oracle
from ethosu_tools.sim.simulation import Simulation

from .. import vela
from ..case import of_operator

# At 1/16, -170 is on the border of the outermost segments of LOGISTIC.
SCALES = (1 / 16, 1 / 4096, 0.0007, 0.0123, 0.031)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("kind", ["LOGISTIC", "TANH"])
def test_every_int16_number_is_exact(kind, scale):
    numbers = np.arange(-32768, 32768, dtype=np.int16).reshape(1, 256, 256)
    case = of_operator(kind, (numbers,), [(scale, 0)], ("int16", 1 / 32768, 0))
    (wanted,) = Oracle(case.model, kernels=REFERENCE).step((numbers,))
    with Simulation(vela.compile_case(case).model) as simulation:
        (found,) = simulation.step((numbers,))
    np.testing.assert_array_equal(found.reshape(wanted.shape), wanted)
