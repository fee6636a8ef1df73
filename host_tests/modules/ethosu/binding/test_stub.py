# SPDX-License-Identifier: MIT
"""ethosu.pyi tells the truth about the running module, and all of it."""

import ast
import re

import pytest

from host_tests.kit.sharing import REPO

from .contract import INTERNAL, SLOTS, broken, classes, documented, functions, parse


@pytest.fixture(scope="module")
def stub():
    return parse()


def test_every_name_is_documented(stub):
    for body in [stub.body, *(node.body for node in classes(stub).values())]:
        assert documented(body)[1] == set()


def test_names_of_the_module(stub, face):
    assert set(face.eval("dir(ethosu)")) - INTERNAL == documented(stub.body)[0]


def test_names_of_the_classes(stub, face):
    for name, node in classes(stub).items():
        found = set(face.eval(f"dir(ethosu.{name})")) - INTERNAL
        public = {one for one in found if not one.startswith("_") or one.startswith("__")}
        names = documented(node.body)[0]
        assert public <= names, name
        methods = {one.name for one in functions(node.body)}
        assert methods - SLOTS <= public, name


def test_the_module_keeps_the_contract(stub, face):
    """Each attribute is there, each parameter is known by its name."""
    face.exec("n = ethosu.reserve()")
    assert broken(face, stub) == set()
    face.exec("n.release()")


def test_the_check_of_the_contract_sees_what_is_missing(stub, face):
    face.exec(
        "n = ethosu.reserve()\nreal = ethosu\n"
        "class Less:\n"
        "    def __getattr__(self, name):\n"
        "        if name == 'npus': raise AttributeError(name)\n"
        "        return getattr(real, name)\n"
        "    def reserve(self, *, timeout_ms=0, npu=0): return real.reserve(timeout_ms=0)\n"
        "ethosu = Less()"
    )
    assert broken(face, stub) == {"npus", "reserve(powered)"}
    face.exec("n.release(); ethosu = real")


def test_version(face, repo):
    """One header has it."""
    text = (repo / "modules/ethosu/ethosu_version.h").read_text()
    assert face.eval("ethosu.__version__") in text.split('"')


def test_help_lists_every_method(stub, face):
    """MicroPython makes the list: no text has to be changed for a new method."""
    text = face.exec("help(ethosu)")
    for word in ("Model", "predict", "reserve", "PMU_NPU_ACTIVE"):
        assert word in text
    for name, node in classes(stub).items():
        text = face.exec(f"help(ethosu.{name})")
        for method in functions(node.body):
            assert method.name in text or method.name in SLOTS
    assert "m.predict([x], callback=None, real=None)" in face.exec("help(ethosu.Model)")


def test_help_of_a_method_says_its_arguments(stub, face):
    """The names of the stub, in its order; `self` and the types are left out."""
    found = 0
    for name, node in classes(stub).items():
        shown = face.exec(f"help(ethosu.{name})")
        for method in functions(node.body):
            line = re.search(rf"^  {method.name} -- {method.name}\((.*?)\)", shown, re.M)
            if line:
                arguments = [*method.args.args[1:], *method.args.kwonlyargs]
                said = [word.split("=")[0] for word in line[1].split(", ") if word != "*"]
                assert said == [argument.arg for argument in arguments]
                found += 1
    assert found >= 7
    with_reserved = "npu = ethosu.reserve()\nhelp(npu.invoke)\nnpu.release()"
    assert "invoke(payload, bases, *, timeout_ms=10000)" in face.exec(with_reserved)


def test_every_name_is_used_by_a_test_or_an_example(stub, repo):
    """By a dot in front: in what the tests run on the board, in the examples, on the pages."""
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
    # What is used without its name: the classes that only calls give, `with`, p[0], len(p).
    assert names - shown <= {"NPU", "PMU", "Tensor"} | SLOTS | {"__enter__", "__exit__"}


def test_every_event_can_be_counted(stub, face):
    """Each PMU_ name of the stub is an event of this NPU, another one than the rest."""
    events = sorted(name for name in documented(stub.body)[0] if name.startswith("PMU_"))
    face.exec(
        "counts = {}\n"
        "with ethosu.reserve() as n:\n"
        "    k = ethosu.Model('/model.tflite', npu=n)\n"
        f"    for name in {events!r}:\n"
        "        with n.pmu(getattr(ethosu, name)) as p: k.run_into([x])\n"
        "        counts[name] = p[0]\n"
    )
    counts = face.eval("counts")
    assert counts["PMU_NPU_ACTIVE"] >= counts["PMU_MAC_ACTIVE"] > 0
    assert counts["PMU_CYCLE"] >= counts["PMU_NPU_ACTIVE"]
    assert counts["PMU_AXI0_WR_DATA_BEAT_WRITTEN"] > 0
    assert len({face.eval(f"ethosu.{name}") for name in events}) == len(events) == len(counts)


def test_the_stub_of_the_emulator(board, repo, request):
    board.exec("try: import emulator\nexcept ImportError: emulator = None")
    if request.config.getoption("--ethosu-port") and board.eval("emulator is None"):
        pytest.skip("this board has no module emulator")
    stub = ast.parse((repo / "firmware/emulator/emulator.pyi").read_text())
    names, bare = documented(stub.body)
    assert bare == set()
    assert set(board.eval("dir(emulator)")) - INTERNAL == names


# Modules in Python and their stubs: they need no board to be compared.
IN_PYTHON = {
    "ethosu_results": ("modules/ethosu/ethosu_results.pyi", "modules/ethosu/binding/python"),
    **{
        "/".join(path.relative_to(REPO / "modules/ml").parts): (
            str(path.relative_to(REPO)) + "i",
            "modules/ml",
        )
        for path in sorted((REPO / "modules/ml/ml").rglob("*.py"))
    },
}


def faces(body, only=None):
    """Public names of a body; of a function its parameters and their constant defaults."""
    found = {}
    for node in body:
        name = getattr(node, "name", "_")
        if name.startswith("_") and name not in ("__init__", "__call__"):
            continue
        if only is not None and name not in only:
            continue
        if isinstance(node, ast.ClassDef):
            found[name] = [ast.unparse(each) for each in node.bases], faces(node.body)
        elif isinstance(node, ast.FunctionDef):
            found[name] = parameters(node.args)
    return found


def parameters(given):
    """Names, kinds and defaults; of a default that is no constant only that there is one."""
    every = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(every) - len(given.defaults)) + given.defaults
    shown = [
        (each.arg, default and (ast.unparse(default) if isinstance(default, ast.Constant) else ""))
        for each, default in zip(
            [*every, *given.kwonlyargs], [*defaults, *given.kw_defaults], strict=True
        )
    ]
    shown = [(name, "" if default == "..." else default) for name, default in shown]
    more = [each and each.arg for each in (given.vararg, given.kwarg)]
    return shown, len(every), more


@pytest.mark.parametrize("module", IN_PYTHON)
def test_stubs_of_modules_in_python(module):
    stub, folder = IN_PYTHON[module]
    source = REPO / folder / (module if module.endswith(".py") else f"{module}.py")
    ours, theirs = ast.parse((REPO / stub).read_text()), ast.parse(source.read_text())
    promised = next(
        (ast.literal_eval(node.value) for node in theirs.body
         if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"), None,
    )  # fmt: skip
    declared = faces(ours.body)
    assert declared == faces(theirs.body, None if promised is None else {*promised, *declared})
    given = {alias.asname for node in ours.body if isinstance(node, ast.ImportFrom)
             for alias in node.names}  # fmt: skip
    assert promised is None or set(promised) <= declared.keys() | given
    assert declared or promised, "a stub that declares nothing"
    for node in [ours, *(one for one in ast.walk(ours) if isinstance(one, ast.ClassDef))]:
        assert documented(node.body)[1] <= {"_Box", "_Found"}


def test_each_frozen_module_has_a_stub(repo):
    """What firmware images freeze, but for what is private to them."""
    frozen = [*repo.glob("modules/ethosu/binding/python/*.py")]
    public = {path.stem for path in frozen if not path.stem.startswith("_")}
    assert public == {name for name in IN_PYTHON if not name.endswith(".py")}
    assert all((repo / stub).is_file() for stub, _ in IN_PYTHON.values())
