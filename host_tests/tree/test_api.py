# SPDX-License-Identifier: MIT
"""What a release promises stays until the next second number: modules, `--json`, options."""

import pytest

from . import api


@pytest.mark.parametrize("release", api.releases())
def test_a_program_for_the_release_still_runs(release):
    """If this version is not released yet, `python -m host_tests.tree.api` writes its file anew."""
    assert api.broken(api.releases()[release], api.today()) == []


def test_this_series_has_a_release():
    assert api.releases()


OLD = {
    "python": {"m": ["f(a, b=1, *, c=2) -> int", "X: int", "async C.g(self, x, /)"]},
    "json": {"run": ["a", "b?", "c:d"]},
    "options": {"run": ["--on", "model"]},
}


@pytest.mark.parametrize(
    ("kind", "part", "entries"),
    [
        (
            "python",
            "m",
            ["f(a, b=1, d=None, *, c=2, e=3) -> int", *OLD["python"]["m"][1:], "Y: str"],
        ),
        ("python", "m", ["f(a, b=1, c=2) -> int", "X: int", "async C.g(self, y, /, z=0)"]),
        ("json", "run", ["a", "b", "c:d", "e?"]),
        ("options", "run", ["--on", "model", "--new"]),
    ],
)
def test_additions_pass(kind, part, entries):
    assert api.broken(OLD, {**OLD, kind: {part: entries, "new": []}}) == []


@pytest.mark.parametrize(
    ("kind", "at", "entry"),
    [
        ("python", 0, "f(a, b=2, *, c=2) -> int"),
        ("python", 0, "f(b=1, *, a, c=2) -> int"),
        ("python", 0, "f(a, b=1, *, c=2) -> str"),
        ("python", 0, "f(a, b=1) -> int"),
        ("python", 0, "f(a, b=1, *, c=2, d) -> int"),
        ("python", 0, "h(a, b=1, *, c=2) -> int"),
        ("python", 1, "X: str"),
        ("python", 2, "async C.g(self, x, y, /)"),
        ("python", 2, "C.g(self, x, /)"),
        ("json", 0, "a?"),
        ("json", 2, "c:e"),
        ("options", 0, "--at"),
    ],
)
def test_each_removal_and_other_meaning_is_named(kind, at, entry):
    (part, entries), *_ = OLD[kind].items()
    changed = {**OLD, kind: {part: [*entries[:at], entry, *entries[at + 1 :]]}}
    assert api.broken(OLD, changed) == [f"{part}: {entries[at]}"]
    assert api.broken(OLD, {**OLD, kind: {}}) == [f"{kind} {part} is gone"]
