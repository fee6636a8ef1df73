# SPDX-License-Identifier: MIT
"""ethosu.pyi tells the truth about the running module, and all of it."""

import ast

import pytest

# What MicroPython's dir() lists, and the names by which the frozen part steers a model.
INTERNAL = {
    "__name__",
    "__bases__",
    "__init__",
    "__class__",
    "__del__",
    "__doc__",
    "__qualname__",
    "__dict__",
}
SPECIAL = {"__getitem__", "__len__", "__init__"}


@pytest.fixture(scope="module")
def stub(repo):
    return ast.parse((repo / "modules/ethosu/ethosu.pyi").read_text())


def documented(body):
    """Names that a body declares, and those of them without a docstring."""
    names, bare = set(), set()
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign):
            name = node.target.id
            doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name, doc = node.name, ast.get_docstring(node)
        else:
            continue
        names.add(name)
        if not doc:
            bare.add(name)
    return names, bare


def classes(stub):
    return {node.name: node for node in stub.body if isinstance(node, ast.ClassDef)}


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
        methods = {
            one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert methods - SPECIAL <= public, name


def test_attributes_of_the_objects(stub, face):
    face.exec("n = ethosu.reserve()")
    objects = {"Model": "m", "Tensor": "m.inputs[0]", "NPU": "n", "PMU": "n.pmu()"}
    for name, node in classes(stub).items():
        for one in node.body:
            if isinstance(one, ast.AnnAssign):
                assert face.eval(f"hasattr({objects[name]}, {one.target.id!r})"), one.target.id
    face.exec("n.release()")


def keywords(function):
    return [argument.arg for argument in function.args.kwonlyargs]


def test_keywords_are_known(stub, face):
    """Each keyword of the stub is taken by the module: a wrong value is refused by name or type."""
    for function in [node for node in stub.body if isinstance(node, ast.FunctionDef)]:
        for name in keywords(function):
            code = f"ethosu.{function.name}({name}=0).release()"
            assert "extra keyword" not in face.exec(f"try: {code}\nexcept Exception as e: print(e)")
    init = next(
        one for one in classes(stub)["Model"].body if getattr(one, "name", "") == "__init__"
    )
    for name in keywords(init):
        code = f"ethosu.Model('/missing.tflite', {name}=None)"
        out = face.exec(f"try: {code}\nexcept Exception as e: print(e)")
        assert "extra keyword" not in out and "unexpected" not in out, name


def test_help_is_of_use(face):
    text = face.exec("help(ethosu)")
    for word in ("Model", "predict", "reserve", "PMU_NPU_ACTIVE"):
        assert word in text
    assert "predict(inputs" in face.exec("help(ethosu.Model)")
    assert "invoke(payload" in face.exec("help(ethosu.NPU)")


def test_every_name_is_used_by_a_test_or_an_example(stub, repo):
    """By a dot in front: in what the tests run on the board, in the examples, on the pages."""
    module = repo / "modules/ethosu"
    places = [
        *(path for path in (repo / "host_tests").rglob("*.py") if path.name != "test_stub.py"),
        *(module / "examples").glob("*.py"),
        *(module / "docs").glob("*.md"),
    ]
    text = "\n".join(path.read_text() for path in places)
    names = documented(stub.body)[0].union(
        *(documented(node.body)[0] for node in classes(stub).values())
    )
    shown = {name for name in names if f".{name}" in text or name.startswith("PMU_")}
    # What is used without its name: the classes that only calls give, `with`, p[0], len(p).
    assert names - shown <= {"NPU", "PMU", "Tensor"} | SPECIAL | {"__enter__", "__exit__"}


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
