# SPDX-License-Identifier: MIT
"""A `unittest` for the board, with the parts that MicroPython's own tests use.

It prints a line for each test, then the ending that MicroPython's run-tests.py looks for.
"""

import sys


class SkipTest(Exception):  # noqa: N818 (Python's name)
    """Ends a test that does not apply."""


class _Raised:
    """Ends normally only if its block raises this exception."""

    def __init__(self, kind):
        self.kind = kind

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        assert kind is not None, f"{self.kind.__name__} was not raised"
        self.exception = value
        return issubclass(kind, self.kind)


class TestCase:
    """Base of the classes of tests."""

    def assertEqual(self, one, other):  # noqa: N802
        assert one == other, f"{one!r} is not {other!r}"

    def assertFalse(self, value):  # noqa: N802
        assert not value, f"{value!r} is true"

    def assertIn(self, part, whole):  # noqa: N802
        assert part in whole, f"{part!r} is not in {whole!r}"

    def assertIsInstance(self, value, kind):  # noqa: N802
        assert isinstance(value, kind), f"{value!r} is no {kind.__name__}"

    def assertRaises(self, kind):  # noqa: N802
        return _Raised(kind)


def skipIf(condition, reason):  # noqa: N802
    """Decorate a method that does not apply under a condition."""

    def skip(self):
        raise SkipTest(reason)

    return (lambda method: skip) if condition else (lambda method: method)


def skipUnless(condition, reason):  # noqa: N802
    """Decorate a method that applies only under a condition."""
    return skipIf(not condition, reason)


def _end(case, method):
    """Run one test; return how it ended."""
    try:
        getattr(case, "setUp", int)()
        try:
            method()
        finally:
            getattr(case, "tearDown", int)()
    except SkipTest:
        return "skipped"
    except AssertionError as error:
        sys.print_exception(error)
        return "failures"
    except Exception as error:
        sys.print_exception(error)
        return "errors"
    return "passed"


def main():
    """Run each test of the program, and print how they ended."""
    program = __import__("__main__")
    ends = []
    for kind in (getattr(program, name) for name in dir(program)):
        if isinstance(kind, type) and issubclass(kind, TestCase):
            getattr(kind, "setUpClass", int)()
            for name in dir(kind):
                if name.startswith("test"):
                    case = kind()
                    ends.append(_end(case, getattr(case, name)))
                    print(f"{name} ({kind.__name__}) ... {ends[-1]}")
    print(f"{'-' * 70}\nRan {len(ends)} tests\n")
    failures, errors, skipped = (ends.count(end) for end in ("failures", "errors", "skipped"))
    if failures or errors:
        print(f"FAILED (failures={failures}, errors={errors})")
    else:
        print(f"OK (skipped={skipped})" if skipped else "OK")
