# SPDX-License-Identifier: MIT
"""Double arithmetic that replaces the C library's equals Python's."""

import ctypes
import math
import random
import subprocess

import pytest


@pytest.fixture(scope="module")
def real_exp(repo, tmp_path_factory):
    library = tmp_path_factory.mktemp("real") / "real.so"
    source = repo / "modules/ethosu/runtime/kernels/shared/real.c"
    flags = ["-std=c11", "-O2", "-Wall", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    flags += [f"-I{repo / 'modules/ethosu'}"]
    subprocess.run(["gcc", *flags, source, "-o", library], check=True)
    function = ctypes.CDLL(str(library)).real_exp
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    return function


@pytest.mark.parametrize("most", [1e-9, 0.4, 10, 700])
def test_exp_is_off_by_less_than_the_spacing_of_doubles(real_exp, most):
    numbers = random.Random(1)
    for _ in range(20_000):
        x = numbers.uniform(-most, most)
        assert abs(real_exp(x) - math.exp(x)) <= math.ulp(math.exp(x)), x


def test_exp_at_its_limits(real_exp):
    exact = {0.0: 1.0, 1000.0: math.inf, math.inf: math.inf, -1000.0: 0.0, -math.inf: 0.0}
    assert {x: real_exp(x) for x in exact} == exact
    assert math.isnan(real_exp(math.nan))
    for x in (709.7, -708.5, -740.0, -745.1):
        assert math.isclose(real_exp(x), math.exp(x), rel_tol=1e-13, abs_tol=5e-324)
    assert real_exp(709.8) == math.inf and real_exp(-746.0) == 0.0
