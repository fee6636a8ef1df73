# SPDX-License-Identifier: MIT
"""What a release promises stays until the next second number: modules, headers, commands."""

import ast
import re

import pytest

from host_tests.kit import headers

from . import api


@pytest.mark.parametrize("release", api.releases())
def test_a_program_for_the_release_still_runs(release):
    """If this version is not released yet, `python -m host_tests.tree.api` writes its file anew."""
    assert api.broken(api.releases()[release], api.today()) == []


def test_this_series_has_a_release():
    assert api.releases()


def test_the_release_has_all_that_the_changelog_promises():
    """The stubs, keys and options have tests of their own below."""
    (promise,) = re.findall(r"It covers\n(.*?)\nIt does not", api.CHANGELOG.read_text(), re.S)
    promised = set(re.findall(r"`(\w+\.h)`", promise))
    for interface in [api.today(), *api.releases().values()]:
        assert promised == set(interface["c"]) and all(interface["c"].values())
        assert any(each.startswith("expect(") for each in interface["python"]["board"])
        assert len(interface["exit codes"]["ethosu"]) >= 6


OLD = {
    "python": {"m": ["f(a, b=1, *, c=2) -> int", "X: int", "async C.g(self, x, /)"]},
    "json": {"run": ["a", "b?", "c:d"]},
    "options": {"run": ["--on", "model"]},
    "c": {"a.h": ["int f(int)", "A = 1"]},
    "exit codes": {"ethosu": ["InputError = 3"]},
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
        ("c", "a.h", ["A = 1", "B = 2", "int f(int)"]),
        ("exit codes", "ethosu", ["InputError = 3", "NewError = 7"]),
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
        ("c", 0, "int f(long)"),
        ("c", 1, "A = 2"),
        ("exit codes", 0, "InputError = 4"),
    ],
)
def test_each_removal_and_other_meaning_is_named(kind, at, entry):
    (part, entries), *_ = OLD[kind].items()
    changed = {**OLD, kind: {part: [*entries[:at], entry, *entries[at + 1 :]]}}
    assert api.broken(OLD, changed) == [f"{part}: {entries[at]}"]
    assert api.broken(OLD, {**OLD, kind: {}}) == [f"{kind} {part} is gone"]


def test_a_property_is_a_value_and_what_is_private_is_no_promise():
    text = (
        "class C:\n @property\n def x(self) -> int: ...\n def _y(self): ...\n def __z__(self): ..."
    )
    assert [*api.members(ast.parse(text).body)] == ["C.x: int", "C.__z__(self)"]


HEADER = """\
#include <stdint.h>
#include "inner.h"
enum e { A, B = 3 };
struct s { int x; union { int y; char z; }; struct { int deep; } in; unsigned bits : 2; };
typedef void f_t(int);
extern const int v;
int f(const char *name, uint32_t n);
static inline int g(int a) { return a + A; }
#define M (1u << 3)
#define CALL(a, b) ((a) + (b))
"""
INNER = "int inner(void);\n"


def interface_of(folder, header=HEADER, inner=INNER):
    (folder / "a.h").write_text(header)
    (folder / "inner.h").write_text(inner)
    return {"c": headers.interface(["inner.h", "a.h"], f"-I{folder}")}


@pytest.mark.parametrize(
    ("was", "now", "lost"),
    [
        ("A, B", "Z, A, B", "A = 0"),
        ("B = 3", "B = 4", "B = 3"),
        ("enum e {", "enum other {", "enum e"),
        ("int x;", "long x;", "struct s.x: int"),
        ("char z;", "", "struct s.z: char"),
        ("int deep;", "char deep;", "struct s.in.deep: int"),
        ("bits : 2", "bits : 3", "struct s.bits: unsigned : 2"),
        ("f_t(int)", "f_t(long)", "typedef void f_t(int)"),
        ("extern const int v;", "", "extern const int v"),
        ("uint32_t n", "uint64_t n", "int f(const char *, uint32_t)"),
        ("int f(", "void f(", "int f(const char *, uint32_t)"),
        ("const char *name", "char *name", "int f(const char *, uint32_t)"),
        ("int g(int a)", "int h(int a)", "int g(int)"),
        ("1u << 3", "1u << 4", "M = 8"),
        ("#define M (1u << 3)", "", "M = 8"),
        ("CALL(a, b) ((a) + (b))", "CALL(a) (a)", "CALL(2 arguments)"),
        ('#include "inner.h"', "", "int inner(void)"),
    ],
)
def test_each_change_of_a_header_that_breaks_a_program_is_named(tmp_path, was, now, lost):
    old = interface_of(tmp_path)
    assert HEADER.count(was) == 1
    changed = interface_of(tmp_path, HEADER.replace(was, now))
    assert f"a.h: {lost}" in api.broken(old, changed)


@pytest.mark.parametrize(
    ("was", "now", "inner"),
    [
        ("B = 3", "B = 3, C", INNER),
        ("int x;", "int x; long more;", INNER),
        ("const char *name", "const char *text", INNER),
        ("static inline int g(int a) { return a + A; }", "int g(int);", INNER),
        ("(1u << 3)", "8u", INNER),
        ("#define M (1u << 3)", "#define M (1u << 3)\n#define N 4\nint more(void);", INNER),
        ("extern const int v;", "", INNER + "extern const int v;"),
        ('#include "inner.h"', INNER, INNER),
    ],
)
def test_additions_to_a_header_pass(tmp_path, was, now, inner):
    old = interface_of(tmp_path)
    assert HEADER.count(was) == 1
    assert api.broken(old, interface_of(tmp_path, HEADER.replace(was, now), inner)) == []
