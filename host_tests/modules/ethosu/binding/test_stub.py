# SPDX-License-Identifier: MIT
"""ethosu.pyi matches the running module, and is complete."""

import ast
import re

import pytest
from ethosu_tools.base import addons

from host_tests.kit import sharing
from host_tests.kit.sharing import REPO

from . import contract
from .contract import INTERNAL, SLOTS, broken, classes, documented, functions, parse


@pytest.fixture(scope="module")
def stub():
    return parse()


# The modules in C.
STUBS = {
    path.stem: path
    for path in (*contract.STUB.parent.glob("*.pyi"), REPO / "firmware/emulator/emulator.pyi")
}


def members(stub, node):
    """Return what a class and its base classes in the stub declare."""
    bases = [classes(stub)[base.id].body for base in node.bases if base.id in classes(stub)]
    return sum(bases, node.body)


@pytest.mark.parametrize("name", STUBS)
def test_the_module_has_the_names_of_its_stub(board, name):
    """An editor completes the stub's names: one that is missing, or too many, misleads."""
    board.exec(f"try: import {name}\nexcept ImportError: {name} = None")
    if name == "emulator" and board.eval("emulator is None"):
        pytest.skip("this board has no module emulator")
    stub = ast.parse(STUBS[name].read_text())
    names, bare = documented(stub.body)
    hidden = {each for each in classes(stub) if each.startswith("_")}
    assert bare - hidden == set()
    assert set(board.eval(f"dir({name})")) - INTERNAL == names - hidden
    for kind in names & set(classes(stub)) - hidden:
        body = members(stub, classes(stub)[kind])
        names_of_kind, bare = documented(body)
        found = set(board.eval(f"dir({name}.{kind})")) - INTERNAL
        assert bare == set()
        assert found <= names_of_kind, kind  # Tab and help() must not show internal names
        assert {one.name for one in functions(body)} - SLOTS <= found, kind


def test_the_module_keeps_the_contract(stub, api):
    """Every attribute of the stub exists, and every parameter can be passed by name."""
    api.exec("n = ethosu.reserve(npu=m.npu)")
    assert broken(api, stub) == set()
    api.exec("n.release()")


def test_the_contract_check_detects_missing_names(stub, api):
    api.exec(
        "n = ethosu.reserve(npu=m.npu)\nreal = ethosu\n"
        "class Less:\n"
        "    def __getattr__(self, name):\n"
        "        if name == 'npus': raise AttributeError(name)\n"
        "        return getattr(real, name)\n"
        "    def reserve(self, *, timeout_ms=0, npu=0): return real.reserve(timeout_ms=0)\n"
        "ethosu = Less()"
    )
    assert broken(api, stub) == {"npus", "reserve(powered)"}
    api.exec("n.release(); ethosu = real")


def test_version(api, repo):
    """The version is that of the only header that defines it."""
    text = (repo / "modules/ethosu/ethosu_version.h").read_text()
    assert api.eval("ethosu.__version__") in text.split('"')


def test_help_lists_every_method_with_its_arguments(stub, api):
    """help() lists the stub's names in its order, with arguments but without `self` and types.

    MicroPython generates the list, so a new method needs no change elsewhere.
    """
    text = api.exec("help(ethosu)")
    for word in ("Model", "predict", "reserve", "PMU_NPU_ACTIVE"):
        assert word in text
    found = 0
    for name, node in classes(stub).items():
        shown = api.exec(f"help(ethosu.{name})")
        for method in functions(node.body):
            assert method.name in shown or method.name in SLOTS
            line = re.search(rf"^  {method.name} -- {method.name}\((.*?)\)", shown, re.M)
            if line:
                arguments = [*method.args.args[1:], *method.args.kwonlyargs]
                said = [word.split("=")[0] for word in line[1].split(", ") if word != "*"]
                assert said == [argument.arg for argument in arguments]
                found += 1
    assert found >= 7
    assert "m.predict([x], callback=None, real=None)" in api.exec("help(ethosu.Model)")
    with_reserved = "npu = ethosu.reserve(npu=m.npu)\nhelp(npu.invoke)\nnpu.release()"
    assert "invoke(payload, bases, *, timeout_ms=10000)" in api.exec(with_reserved)


def test_every_name_is_used_by_a_test_or_an_example(stub, repo):
    """Every name occurs after a dot in a board's test code, an example or a page."""
    module = repo / "modules/ethosu"
    places = [
        *(path for path in (repo / "host_tests").rglob("*.py") if path.name != "contract.py"),
        *(module / "examples").glob("*.py"),
        *(module / "docs").glob("*.md"),
    ]
    text = "\n".join(path.read_text() for path in places)
    names = documented(stub.body)[0].union(
        *(documented(node.body)[0] for node in classes(stub).values())
    )
    shown = {name for name in names if f".{name}" in text or name.startswith("PMU_")}
    # Names that are used implicitly: classes that only calls return, `with`, p[0], len(p).
    assert names - shown <= {"NPU", "PMU", "Tensor"} | SLOTS | {"__enter__", "__exit__"}


def test_every_event_can_be_counted(stub, api):
    """Each PMU_ name of the stub is a distinct event of this NPU."""
    events = sorted(name for name in documented(stub.body)[0] if name.startswith("PMU_"))
    api.exec(
        "counts = {}\n"
        "with ethosu.reserve(npu=m.npu) as n:\n"
        "    k = ethosu.Model('/model.tflite', npu=n)\n"
        f"    for name in {events!r}:\n"
        "        with n.pmu(getattr(ethosu, name)) as p: k.run_into([x])\n"
        "        counts[name] = p[0]\n"
    )
    counts = api.eval("counts")
    assert counts["PMU_NPU_ACTIVE"] >= counts["PMU_MAC_ACTIVE"] > 0
    assert counts["PMU_CYCLE"] >= counts["PMU_NPU_ACTIVE"]
    assert counts["PMU_AXI0_WR_DATA_BEAT_WRITTEN"] > 0
    assert len({api.eval(f"ethosu.{name}") for name in events}) == len(events) == len(counts)


# Parameters of OpenMV's functions that are ignored here.
NO_EFFECT = {("Model.__init__", "load_to_fb"), ("Image.__init__", "copy_to_fb")}

# Modules in Python are their own stubs, so they need no board.
IN_PYTHON = [
    *REPO.glob("modules/ethosu/binding/python/[!_]*.py"),
    *(
        path
        for each in addons.texts("board package").values()
        for path in REPO.glob(f"{each}/**/*.py")
    ),
]


def optional(tree):
    """Return optional parameters of public functions and classes: (where, name)."""
    for node in tree:
        name = getattr(node, "name", "_")
        if name.startswith("_"):
            continue
        body = node.body if isinstance(node, ast.ClassDef) else [node]
        for function in body:
            if not isinstance(function, ast.FunctionDef):
                continue
            if function.name.startswith("_") and function.name != "__init__":
                continue
            given = function.args
            by_place = [*given.posonlyargs, *given.args][-len(given.defaults) or 10**6 :]
            for parameter in (*by_place, *given.kwonlyargs):
                yield f"{name}.{function.name}", parameter.arg


@pytest.mark.parametrize(
    "path",
    [
        *IN_PYTHON,
        *(path for each in addons.texts("wheel files").values() for path in REPO.glob(each)),
    ],
    ids=lambda path: str(path.relative_to(REPO)),
)
def test_each_optional_parameter_is_used_by_a_test(path):
    """A test passes each optional parameter by name on a board, or its promise is untested."""
    public = sharing.script(REPO / "tools/setup/book.py").public
    room = path.relative_to(REPO / "modules").parts[0]
    tests = REPO / "host_tests/modules" / ("ethosu/binding" if room == "ethosu" else room)
    text = "\n".join(each.read_text() for each in tests.rglob("*.py"))
    missing = {
        each for each in optional(public(ast.parse(path.read_text())))
        if not re.search(rf"\b{each[1]}=", text)
    }  # fmt: skip
    assert missing <= NO_EFFECT, missing - NO_EFFECT


# For each module and class, the values that its examples presuppose.
EXAMPLES = {
    "ethosu": "NAME = '/model.tflite'; v = [0.5] * len(x)",
    "ethosu.Model": "source = '/model.tflite'; y = bytearray(len(golden))",
    "ethosu_audio": "samples = array('h', bytes(1600))",
    "ethosu_image": (
        "from ethosu_image import *; frame = bytearray(2 * 320 * 240); model = m; limit = 100"
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_help_run(api, name):
    """The indented lines in docstrings run as they are; `await` is put into a task."""
    api.exec(f"import asyncio, ethosu_audio, ethosu_image\n{EXAMPLES[name]}\nhelp({name})")
    lines = [line for line in api.eval(f"{name}.__doc__").splitlines() if line[:1] == " "]
    assert len(lines) >= 2
    for line in lines:
        code = re.sub(r"await (.*\))", r"asyncio.run(\1)", line.partition("#")[0].strip())
        api.exec(code.replace("'/rom/NAME.tflite'", "NAME").replace('"/rom/NAME.tflite"', "NAME"))


def untyped(body):
    """Return public functions and methods without a docstring or any type."""
    for node in body:
        name = getattr(node, "name", "_")
        called = name in ("__init__", "__call__")
        if name.startswith("_") and not called:
            continue
        if isinstance(node, ast.ClassDef):
            yield from untyped(node.body)
        if not ast.get_docstring(node) and not called:
            yield name
        if isinstance(node, ast.FunctionDef):
            named = [*node.args.args, *node.args.kwonlyargs, node.args.vararg or node.args]
            if not node.returns and not any(getattr(one, "annotation", None) for one in named):
                yield name


@pytest.mark.parametrize("path", IN_PYTHON, ids=lambda path: str(path.relative_to(REPO)))
def test_modules_in_python_have_types_and_docstrings(path):
    """Modules in Python are typed, because mypy --strict rejects calls of untyped functions."""
    public = sharing.script(REPO / "tools/setup/book.py").public
    assert list(untyped(public(ast.parse(path.read_text())))) == []
