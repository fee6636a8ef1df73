# SPDX-License-Identifier: MIT
"""What C headers promise: functions, variables, structures, types, and the values of constants.

pycparser, which cffi brings, reads the declarations; the compiler gives the values.
"""

import copy
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pycparser import c_ast, c_generator, c_parser

from host_tests.kit import sharing

_binding = sharing.script(sharing.REPO / "tools/setup/library_binding.py")
FOLDERS = {
    "modules/ethosu/driver/include": (
        *("ethosu_types.h", "ethosu_driver.h", "pmu_ethosu.h", "ethosu_ext.h"),
        *("ethosu_board.h", "arm_ethos_io_memcpy.h"),
    ),
    "modules/ethosu/runtime/include": ("ethosu_model.h",),
}
HEADERS = tuple(name for names in FOLDERS.values() for name in names)
# The option of a build without the add-on; it is no part of the interface.
_FIXED = ("-DETHOSU_PTE=1",)
# For the parser any type does for those of the C library.
_TYPES = (
    *("bool", "size_t", "intptr_t", "uintptr_t"),
    *(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
_MACRO = re.compile(r"#define (\w+)(\([^)]*\))? ?(.*)")
_INCLUDE = re.compile(r'#include "(.*)"')


def interface(names: Sequence[str] = HEADERS, *options: str) -> dict[str, list[str]]:
    """Return what each header declares; what it has of another of them is an #include."""
    every = {name: provided(name, *options) for name in names}
    found = {}
    for name, mine in every.items():
        inner = [each for each in names if set(every[each]) < set(mine)]
        theirs = {entry for each in inner for entry in every[each]}
        includes = [f'#include "{each}"' for each in inner]
        found[name] = includes + [entry for entry in mine if entry not in theirs]
    return found


def reachable(headers: Mapping[str, Sequence[str]], name: str) -> list[str]:
    """Return what a program has that includes this header."""
    own = list(headers.get(name, ()))
    inner = (found[1] for entry in own if (found := _INCLUDE.fullmatch(entry)))
    return own + [entry for each in inner for entry in reachable(headers, each)]


def provided(name: str, *options: str) -> list[str]:
    """Return all that a header declares, with what it includes; `options` for the preprocessor."""
    types = "".join(f"typedef int {each};\n" for each in _TYPES)
    tree = c_parser.CParser().parse(types + _binding.preprocessed([name], *_FIXED, *options), name)
    nodes = tree.ext[len(_TYPES) :]
    entries = [entry for node in nodes for entry in _declared(node)]
    constants = [each.name for node in nodes for each in _all(node, c_ast.Enumerator)]
    calls = []
    for word, parameters, text in _macros([name], *options) - _macros([], *options):
        if parameters:
            calls.append(f"{word}({parameters.count(',') + 1} arguments)")
        elif text:
            constants.append(word)
    return list(
        dict.fromkeys([*entries, *_values(name, sorted(constants), *options), *sorted(calls)])
    )


def _macros(names: Sequence[str], *options: str) -> set[tuple[str, str, str]]:
    text = _binding.preprocessed(names, "-dM", *_FIXED, *options)
    return {(found[1], found[2] or "", found[3]) for found in _MACRO.finditer(text)}


def _values(header: str, names: Sequence[str], *options: str) -> Iterator[str]:
    """Ask the compiler for the values of constants."""
    lines = "".join(f'    put("{name}", ({name}) < 0, ({name}));\n' for name in names)
    text = f"""\
#include <stdio.h>
#include "{header}"
static void put(const char *name, int negative, unsigned long long value)
{{
    printf("%s = %s%llu\\n", name, negative ? "-" : "", negative ? -value : value);
}}
int main(void)
{{
{lines}    return 0;
}}
"""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "values.c"), Path(folder, "values")
        source.write_text(text)
        paths = (f"-I{sharing.REPO / each}" for each in _binding.FOLDERS)
        sharing.run(["cc", "-std=c11", "-w", *_FIXED, *paths, *options, source, "-o", program])
        yield from sharing.run([program]).splitlines()


def _declared(node: c_ast.Node) -> Iterator[str]:
    for each in _all(node, c_ast.Struct, c_ast.Union):
        if each.name and each.decls:
            yield from _members(f"{_kind(each)} {each.name}", each)
    node = node.decl if isinstance(node, c_ast.FuncDef) else node
    if isinstance(node.type, c_ast.Struct | c_ast.Union | c_ast.Enum):
        if node.type.name:
            yield f"{_kind(node.type)} {node.type.name}"
        return
    yield _text(node, keeps_name=True)


def _members(prefix: str, of: c_ast.Node) -> Iterator[str]:
    """Return the members, those of anonymous structures and unions as if they were direct ones."""
    for member in of.decls:
        inner = member.type.type if isinstance(member.type, c_ast.TypeDecl) else member.type
        nested = isinstance(inner, c_ast.Struct | c_ast.Union) and not inner.name
        name = f"{prefix}.{member.name}" if member.name else prefix
        if nested:
            yield from _members(name, inner)
        else:
            yield f"{name}: {_text(member)}"


def _text(node: c_ast.Node, keeps_name: bool = False) -> str:
    """Return a declaration in C, without the names of parameters, which mean nothing."""
    node = copy.deepcopy(node)
    if isinstance(node, c_ast.Decl):
        node.funcspec = []
        node.storage = [each for each in node.storage if each != "static"]
    lists = list(_all(node, c_ast.ParamList))
    for part in lists if keeps_name else [node]:
        for each in _all(part, c_ast.TypeDecl):
            each.declname = None
    for each in _all(node, c_ast.Struct, c_ast.Union):
        if each.name:
            each.decls = None  # it has entries of its own
    return " ".join(c_generator.CGenerator().visit(node).split())


def _kind(node: c_ast.Node) -> str:
    return type(node).__name__.lower()


def _all(node: c_ast.Node, *kinds: type) -> Iterator[c_ast.Node]:
    """Return all nodes of these kinds, the node itself, too."""
    if isinstance(node, kinds):
        yield node
    for _, child in node.children():
        yield from _all(child, *kinds)
