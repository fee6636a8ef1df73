# SPDX-License-Identifier: MIT
"""ethosu.pyi tells the truth about the running module, and all of it."""

import ast

import pytest

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


def test_the_stub_of_the_emulator(board, repo):
    stub = ast.parse((repo / "firmware/emulator/emulator.pyi").read_text())
    names, bare = documented(stub.body)
    assert bare == set()
    board.exec("import emulator")
    assert set(board.eval("dir(emulator)")) - INTERNAL == names
