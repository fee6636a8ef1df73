# SPDX-License-Identifier: MIT
"""Compares module math and conversions of 64-bit integers with those of this machine."""

import ctypes
import json
import math
import random
import subprocess

import pytest

SOURCE = """
#include "arithmetic.h"
double ul2d(uint64_t value) { return unsigned_to_double(value); }
double l2d(int64_t value) { return signed_to_double(value); }
float ul2f(uint64_t value) { return unsigned_to_float(value); }
float l2f(int64_t value) { return signed_to_float(value); }
double ul2d_here(uint64_t value) { return (double)value; }
double l2d_here(int64_t value) { return (double)value; }
float ul2f_here(uint64_t value) { return (float)value; }
float l2f_here(int64_t value) { return (float)value; }
"""
# Range of the argument, and largest error in units of the last place, relative to this machine's C
# library.
FUNCTIONS = {
    "acos": (-1, 1, 1),
    "acosh": (1, 1e6, 2),
    "asin": (-1, 1, 1),
    "asinh": (-1e6, 1e6, 2),
    "atan": (-50, 50, 1),
    "atanh": (-1, 1, 2),
    "cosh": (-700, 700, 2),
    "cos": (-1e6, 1e6, 1),
    "erf": (-6, 6, 1),
    "erfc": (-6, 26, 3),
    "exp": (-700, 700, 1),
    "expm1": (-30, 700, 1),
    "gamma": (-20, 170, 10),
    "lgamma": (2.5, 1e4, 3),
    "log10": (1e-9, 1e9, 2),
    "log": (1e-9, 1e9, 1),
    "sin": (-1e6, 1e6, 1),
    "sinh": (-700, 700, 2),
    "sqrt": (0, 1e300, 0),
    "tan": (-1e6, 1e6, 1),
    "tanh": (-20, 20, 2),
}
CODE = """
import json, math, struct
def results(name, arguments):
    function = getattr(math, name)
    print(json.dumps([struct.pack('>d', function(*a)).hex() for a in arguments]))
def bits(*numbers):
    return tuple(struct.unpack('>d', bytes.fromhex(n))[0] for n in numbers)
"""


def _hex(number):
    return ctypes.c_uint64.from_buffer(ctypes.c_double(number)).value.to_bytes(8, "big").hex()


def _results(board, name, arguments):
    listed = ", ".join(f"bits{tuple(map(_hex, a))!r}" for a in arguments)
    return [
        ctypes.c_double.from_buffer(ctypes.c_uint64(int(text, 16))).value
        for text in json.loads(board.exec(f"results({name!r}, [{listed}])"))
    ]


@pytest.fixture(scope="module")
def conversions(repo, tmp_path_factory):
    folder = tmp_path_factory.mktemp("arithmetic")
    (folder / "all.c").write_text(SOURCE)
    flags = ["-std=c11", "-O2", "-Wall", "-Werror", "-shared", "-fPIC"]
    flags.append(f"-I{repo / 'firmware/cortex_m'}")
    subprocess.run(["gcc", *flags, folder / "all.c", "-o", folder / "all.so"], check=True)
    return ctypes.CDLL(str(folder / "all.so"))


@pytest.mark.parametrize("name", ["ul2d", "l2d", "ul2f", "l2f"])
def test_a_64_bit_integer_is_rounded_as_here(conversions, name):
    integer = ctypes.c_uint64 if name.startswith("u") else ctypes.c_int64
    functions = getattr(conversions, name), getattr(conversions, f"{name}_here")
    for function in functions:
        function.argtypes = [integer]
        function.restype = ctypes.c_double if name.endswith("d") else ctypes.c_float
    numbers = random.Random(1)
    values = [numbers.getrandbits(64) >> numbers.randrange(64) for _ in range(20_000)]
    # Integers halfway between two floats, and their neighbours.
    for bit in range(64):
        for width in (24, 25, 53, 54):
            if bit >= width:
                half = (1 << bit) | (1 << (bit - width))
                values += [half - 1, half, half + 1, half + (1 << (bit - width + 1))]
        values += [(1 << bit) - 1, 1 << bit, (1 << 64) - (1 << bit)]
    for value in values:
        found, expected = (function(integer(value)) for function in functions)
        assert found == expected, value


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_math_is_as_exact_as_here(board, name):
    low, high, most = FUNCTIONS[name]
    numbers = random.Random(name)
    arguments = [(numbers.uniform(low, high),) for _ in range(200)]
    board.exec(CODE)
    for (x,), found in zip(arguments, _results(board, name, arguments), strict=True):
        expected = getattr(math, name)(x)
        assert abs(found - expected) <= most * math.ulp(expected), (x, found, expected)


def test_a_remainder_is_exact(board):
    numbers = random.Random(2)
    arguments = [
        (numbers.uniform(-1, 1) * 2.0 ** numbers.randrange(-1070, 1000),
         numbers.uniform(-1, 1) * 2.0 ** numbers.randrange(-1070, 1000))
        for _ in range(200)
    ]  # fmt: skip
    arguments += [(5e-324, 3e-324), (1.0, -1.0), (-0.0, 3.0), (7.5, math.inf)]
    board.exec(CODE)
    expected = [math.fmod(*a) for a in arguments]
    assert list(map(_hex, _results(board, "fmod", arguments))) == list(map(_hex, expected))


@pytest.mark.parametrize(
    "call",
    ["acos(2)", "asin(-2)", "acosh(0.5)", "atanh(1)", "atanh(2)", "sqrt(-1)", "log10(0)",
     "log10(-1)", "fmod(1, 0)", "gamma(0)", "gamma(-2)", "gamma(-inf)", "lgamma(0)", "lgamma(-3)",
     "exp(1000)", "log(0)", "pow(0, -1)", "sin(inf)", "tan(-inf)", "sinh(1000)", "cosh(-1000)"],
)  # fmt: skip
def test_an_argument_outside_the_domain_is_refused(board, call):
    board.exec(
        f"from math import *\ntry: r = {call}\nexcept ValueError: r = None\nassert r is None, r"
    )


def test_limits(board):
    board.exec(
        "from math import *\n"
        "assert isclose(gamma(5), 24, rel_tol=1e-14) and gamma(-1.5) > 0 > gamma(-2.5)\n"
        "assert sinh(-inf) == -inf and cosh(inf) == inf and erf(inf) == 1 and expm1(-inf) == -1\n"
        "assert isnan(acos(nan)) and isnan(fmod(nan, 1)) and isnan(gamma(nan))"
    )
