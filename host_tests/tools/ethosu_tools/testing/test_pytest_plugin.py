# SPDX-License-Identifier: MIT
"""Tests the pytest plugin in a user's project: `board` without set-up, ports, and pools."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from ethosu_tools.base.errors import BoardError, BoardTimeoutError, InputError
from ethosu_tools.boards.setup import emulated
from ethosu_tools.link.emulator import qemu
from ethosu_tools.testing import pool

from host_tests.kit import pages, sharing

USERS_TESTS = """\
def test_answer(board):
    assert board.eval("6 * 7") == 42
    board.exec("left_over = 1")

def test_each_test_gets_a_fresh_interpreter(board):
    assert board.eval("'left_over' in globals()") is False

def test_npu_is_the_one_asked_for(board, board_npu):
    assert board.eval("__import__('ethosu').npus()") == [board_npu]
"""


def processes_with(variable):
    """Return command lines of processes that have a variable in their environment.

    Python's resource tracker of pytest-embedded, which ends after its parent, is omitted.
    """
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if variable in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes())
    return [command for command in found if b"multiprocessing.resource_tracker" not in command]


class UsersPytest:
    """Runs pytest in a separate user folder: `run(*options, tests=USERS_TESTS)`.

    `tests` is a file, or several by name. Each run must leave nothing behind: no process, no lock,
    no temporary file.
    """

    def __init__(self, folder):
        self.folder, self.locks = folder, folder / "locks"
        self._temporary = folder / "temporary"
        self._temporary.mkdir()

    def __call__(self, *options, tests=USERS_TESTS, python=sys.executable):
        for name, text in ({"mine": tests} if isinstance(tests, str) else tests).items():
            (self.folder / f"test_{name}.py").write_text(text)
        places = {"TMPDIR": str(self._temporary), "ETHOSU_LOCKS": str(self.locks)}
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, options)],
            cwd=self.folder,
            env={**os.environ, **places},
            capture_output=True,
            text=True,
        )
        assert not processes_with(os.fsencode(f"TMPDIR={self._temporary}"))
        left = {each.name for each in self._temporary.iterdir()} - {"pytest-embedded"}  # its logs
        assert all(name.startswith("pytest-of-") for name in left), left
        return done.returncode, done.stdout + done.stderr

    def close(self):
        assert not self.locks.exists() or not [*self.locks.iterdir()]

    def cases(self):
        """Read the test cases of the report r.xml, by file and test."""
        report = ElementTree.parse(self.folder / "r.xml")
        return {(each.get("classname"), each.get("name")): each for each in report.iter("testcase")}


@pytest.fixture
def users_pytest(tmp_path, monkeypatch):
    run = UsersPytest(tmp_path)
    monkeypatch.setenv("ETHOSU_LOCKS", str(run.locks))
    yield run
    run.close()


@pytest.fixture(scope="module")
def machine():
    with qemu.Machine(emulated(npu="ethos-u55-64")) as machine:
        yield machine


@pytest.fixture
def victim():
    """Return a board that the test breaks."""
    with qemu.Machine(emulated(npu="ethos-u55-64")) as machine:
        yield machine


def test_board_is_emulated_by_default(users_pytest):
    code, out = users_pytest("--npu", "ethos-u55-256")
    assert "3 passed" in out and code == 0, out


@pytest.mark.parametrize(("option", "workers"), [("--ethosu-port", "2"), ("--port", "auto")])
def test_same_tests_run_on_a_port(users_pytest, machine, option, workers):
    """The same tests run on a port, with one worker, since two would disturb each other."""
    options = [f"{option}={machine.port}", "--npu", "ethos-u55-64", "-n", workers]
    code, out = users_pytest(*options)
    assert "3 passed" in out and code == 0, out
    assert "bringing up nodes" not in out


def test_a_missing_port_fails_with_its_name(users_pytest):
    code, out = users_pytest("--port", "/dev/no_such_port")
    assert code == 1 and "/dev/no_such_port cannot be opened" in out


def test_port_that_pytest_takes_for_its_root_folder_is_refused(users_pytest, machine):
    """A port that pytest takes for a path of tests is refused: /dev/pts would be the root."""
    for words in (["--ethosu-port"], ["test_mine.py", "--port"]):
        code, out = users_pytest(*words, machine.port)
        assert code == 4 and f"write {words[-1]}={machine.port}" in out, out
    (users_pytest.folder / "pytest.ini").write_text("[pytest]\n")
    code, out = users_pytest("test_mine.py", "--port", machine.port, "-k", "answer")
    assert code == 0 and "1 passed" in out, out


OTHERS_OPTION = "def pytest_addoption(parser): parser.addoption('--port', dest='other_port')\n"


@pytest.mark.parametrize("where", ["conftest.py", "others.py"])
def test_short_option_names_are_left_to_other_plugins(users_pytest, machine, where):
    (users_pytest.folder / where).write_text(OTHERS_OPTION)
    tests = (
        "def test_both(board, request):\n"
        "    assert request.config.getoption('other_port') == 'theirs'\n"
        f"    assert board.port == {machine.port!r}\n"
    )
    options = [] if where == "conftest.py" else ["-p", "others"]
    code, out = users_pytest(
        *options, "--port", "theirs", f"--ethosu-port={machine.port}", tests=tests
    )
    assert "1 passed" in out and code == 0, out


def test_npu_of_a_port_is_checked(users_pytest, machine):
    code, out = users_pytest("--ethosu-npu", "ethos-u55-256", f"--ethosu-port={machine.port}")
    assert "3 skipped" not in out and code == 1, out
    assert "no board meets the requirements (ethos-u55-256); available: " in out
    assert f"available: {machine.port}: ethos-u55-64" in out


FAILING = """\
import pytest

def test_before(board):
    board.exec("print('of another test')")

def test_raises(board):
    board.exec("print('printed before')\\nfor i in range(3):\\n    1 // (i - 1)\\n")

def test_faults(board):
    board.exec("print('up to here')\\nimport machine\\nmachine.mem32[0x90000000]")

def test_after(board):
    assert board.eval("1") == 1
"""


POOL = """
[[board]]
port = "{first}"
name = "first"
tags = ["camera"]
[[board]]
port = "{second}"
npu = "ethos-u55-256"
[[board]]
port = "qemu"
tags = ["emulated"]
"""
CHOOSING = """\
import pytest

@pytest.mark.ethosu(tags=["camera"])
def test_by_tag(board, record_property):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u55-64"]

@pytest.mark.ethosu(npu="ethos-u55-256")
def test_by_npu(board):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u55-256"]

@pytest.mark.ethosu(npu="ethos-u85-256")
def test_emulated(board):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u85-256"]

@pytest.mark.ethosu(count=3)
def test_three(boards):
    assert len({each.port for each in boards}) == 3
    assert [each.eval("2") for each in boards] == [2, 2, 2]

@pytest.mark.ethosu(tags=["a robot"])
def test_none(board):
    pass
"""


def test_marks_choose_from_a_pool(users_pytest, machine):
    with qemu.Machine(emulated(npu="ethos-u55-256")) as second:
        file = users_pytest.folder / "pool.toml"
        file.write_text(POOL.format(first=machine.port, second=second.port))
        code, out = users_pytest("--ethosu-pool", file, "-rs", tests=CHOOSING)
    assert code == 0 and "4 passed, 1 skipped" in out, out
    assert "no board meets the requirements (tag a robot); available: first: " in out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("port = 1", r"must have tables \[\[board\]\], found port"),
        ("[[board]]\nprot = 'x'", r"board 0 has prot; port is required"),
        ("[[board]]\nport = 1", "port must be text"),
        ("[[board]]\nport = 'x'\ntags = 'y'", "tags must be text"),
        ("[[board]]\nport = 'x'\npower = 'hub off'", "power must be a command with {action}"),
        ("[[board]]\nport = 'qemu'\nboard = 'NOPE'", "unknown board 'NOPE'"),
        ("[[", "is not a TOML file"),
    ],
)
def test_pool_files_are_checked(tmp_path, text, words):
    path = tmp_path / "pool.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words):
        pool.read(path)


def test_the_pool_of_the_readme_is_one(tmp_path):
    """The README's pool is valid, and has an entry of each kind."""
    (block,) = [each for each in pages.blocks("tools/ethosu_tools/README.md")
                if each.language == "toml"]  # fmt: skip
    (tmp_path / "pool.toml").write_text(block.text)
    bench, emulated = pool.read(tmp_path / "pool.toml")
    assert bench.tags == {"camera", "ulab"} and bench.name and bench.npu
    assert [command.split()[-1] for command in bench.power] == ["off", "on"]
    assert (emulated.port, emulated.board) == (pool.QEMU, "MPS3_AN547")


TWO = """\
def test_one(board):
    {fault}

def test_two(board):
    assert board.eval("1") == 1
"""
KILLED = "board.machine.process.kill(); board.exec('1')"
# This board sleeps: a busy one would run through all time-outs of a recovery.
HANG = "import micropython, time; micropython.kbd_intr(-1)\nwhile 1: time.sleep(9)"
HUNG = f"board.exec({HANG!r}, timeout=1)"


def test_a_hung_board_is_set_aside_and_reported(users_pytest, victim):
    options = [f"--port={victim.port}", "--junitxml=r.xml"]
    code, out = users_pytest(*options, tests=TWO.format(fault=HUNG))
    kinds = [board_failure(case) for case in users_pytest.cases().values()]
    assert kinds == ["BoardTimeoutError", "NoBoardError"]
    assert code == 1 and "1 failed, 1 error" in out, out
    assert f"no board is left: {victim.port}: soft reset: the board at" in out
    assert "boards excluded from the pool" in out


def test_another_board_of_the_pool_takes_over(users_pytest, victim):
    with qemu.Machine() as second:
        options = [f"--port={victim.port}", f"--port={second.port}"]
        code, out = users_pytest(*options, tests=TWO.format(fault=HUNG))
    assert code == 1 and "1 failed, 1 passed" in out, out
    told = out.partition("boards excluded from the pool")[2]
    assert f"{victim.port}: soft reset: the board at" in told and second.port not in told


def test_a_hung_board_with_a_power_switch_is_switched_off_and_on(victim, tmp_path):
    """Each command ends before the next one starts; the stand-in for the switch resets QEMU."""
    log, done = tmp_path / "log", tmp_path / "done"
    script = f"echo $0 >> {log}; [ $0 = off ] || until [ -e {done} ]; do sleep 0.1; done"
    file = tmp_path / "pool.toml"
    command = f"sh -c '{script}' {{action}}".replace("'", '"')
    file.write_text(f"[[board]]\nport = '{victim.port}'\npower = '{command}'\n")

    def switch():
        while not log.exists() or "on" not in log.read_text():
            time.sleep(0.1)
        victim.reset()
        done.touch()

    boards = pool.Pool(pool.read(file))
    (taken,) = boards.use([pool.Needs()])
    with pytest.raises(BoardTimeoutError):
        taken.board.exec(HANG, timeout=1)
    thread = threading.Thread(target=switch)
    thread.start()
    (again,) = boards.use([pool.Needs()])
    thread.join()
    assert again is taken and taken.board.eval("1") == 1 and not boards.excluded
    assert log.read_text() == "off\non\n"
    boards.release()


def test_a_silent_port_is_switched_on_before_it_is_given_up(monkeypatch, tmp_path):
    """A board that is off when the run starts gets power."""
    tries = []

    def start(port, **_):
        tries.append(port)
        raise BoardTimeoutError(f"{port} is silent")

    monkeypatch.setattr(pool, "open_board", start)
    touch = tuple(f"touch {tmp_path / action}" for action in ("off", "on"))
    with pytest.raises(pool.NoBoardError, match="/dev/a is silent"):
        pool.Pool([pool.Place("/dev/a", power=touch)]).use([pool.Needs()])
    assert len(tries) == 2 and (tmp_path / "on").exists()


@pytest.mark.parametrize(
    ("command", "text"),
    [("false", "failed \\(exit code 1\\)"), ("sleep 99", "longer"), ("/no", "run")],
)
def test_a_power_switch_that_fails_is_named(monkeypatch, command, text):
    monkeypatch.setattr(pool, "_SWITCH_S", 0.5)
    with pytest.raises(BoardError, match=f"bench: the command for its power, {command}, .*{text}"):
        pool.Place("/dev/a", name="bench", power=(command,)).switch_off_and_on()


UNPLUG = f"os.kill(int(os.environ['QEMU']), {signal.SIGKILL}); board.exec('1')"


def test_an_unplugged_port_is_set_aside_and_reported(users_pytest, victim, monkeypatch):
    monkeypatch.setenv("QEMU", str(victim.process.pid))
    tests = "import os\n" + TWO.format(fault=UNPLUG)
    code, out = users_pytest(f"--port={victim.port}", tests=tests)
    assert code == 1 and "1 failed, 1 error" in out, out
    assert f"no board is left: {victim.port}: " in out and "the link to" in out


def test_what_an_excluded_board_sent_is_shown_once(monkeypatch):
    """An excluded board's output is shown once: in a test's failure, else in the summary."""

    def take(place, npu):
        raise BoardTimeoutError(f"{place.port} is silent; it sent: noise")

    monkeypatch.setattr(pool, "Taken", take)
    other = pool.Place("/dev/b", npu="ethos-u55-256")
    places = pool.Pool([pool.Place("/dev/a"), other])
    places.exclude(other, "is noisy; it sent: noise")
    with pytest.raises(pool.NoBoardError, match=r"left: /dev/a: /dev/a is silent; it sent: noise$"):
        places.use([pool.Needs("ethos-u55-128")])
    assert places.summary() == {"/dev/a": "/dev/a is silent", "/dev/b": "is noisy; it sent: noise"}


def test_a_locked_port_names_its_owner(users_pytest, machine):
    holder = (
        "import sys, time\nfrom ethosu_tools.link.board import Board\nwith Board(sys.argv[1]):\n"
    )
    holder += " print(flush=True); time.sleep(1000)"
    command = [sys.executable, "-c", holder, machine.port]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        code, out = users_pytest(f"--port={machine.port}")
        other.kill()
    assert code == 1 and f"process {other.pid}, since" in out, out
    assert f"no board is free: {machine.port} is in use by " in out and "3 errors" in out
    assert users_pytest(f"--port={machine.port}")[0] == 0, "the lock ended with its holder"


EMULATED_POOL = """
[[board]]
port = "qemu"
name = "bench A"
[[board]]
port = "qemu"
name = "bench B"
board = "ALIF_ENSEMBLE_E7-M55_HP"
"""
MEETING = """\
import pathlib, time, pytest

@pytest.mark.parametrize("number", range(6))
def test_each(board, number, worker_id):
    here = pathlib.Path(__file__).with_name(worker_id)
    here.touch()
    while number < 2 and len([*here.parent.glob("gw*")]) < 2:
        time.sleep(0.05)  # until both workers have a board
    assert board.eval("__import__('os').uname().machine")
"""
ON_BENCHES = f"""\
{MEETING}
@pytest.mark.ethosu(npu="ethos-u55-256")
def test_by_npu(board):
    assert "Alif" in board.eval("__import__('os').uname().machine")

@pytest.mark.ethosu(count=2)
def test_two(boards):
    found = sorted(board.eval("__import__('os').uname().machine") for board in boards)
    assert "Alif" in found[0] and "MPS3" in found[1]

@pytest.mark.ethosu(count=3)
def test_three(boards):
    pass
"""


def test_emulated_boards_of_a_pool_are_like_real_ones(users_pytest):
    """A pool's emulated boards have one user at a time; one with the NPU is preferred."""
    file = users_pytest.folder / "pool.toml"
    file.write_text(EMULATED_POOL)
    options = ["--ethosu-pool", file, "--junitxml=r.xml", "-rs", "test_mine.py"]
    code, out = users_pytest("-n", "8", *options, tests=ON_BENCHES)
    assert code == 0 and "8 passed, 1 skipped" in out, out
    assert "needs more than 2 boards, and no other board in the pool meets the requi" in out
    assert "(any); available: bench A" in out
    found = {}
    for case in ElementTree.parse(users_pytest.folder / "r.xml").iter("testcase"):
        given = [(each.get("name"), each.get("value")) for each in case.iter("property")]
        names = [value for name, value in given if name == "board"]
        machines = [value for name, value in given if name == "machine"]
        found[case.get("name")] = names
        assert ["Alif" in machine for machine in machines] == [name[-1] == "B" for name in names]
    assert found["test_by_npu"] == ["bench B"] and sorted(found["test_two"]) == [
        "bench A",
        "bench B",
    ]
    assert {name for names in found.values() for name in names} == {"bench A", "bench B"}


def test_each_worker_has_an_emulated_board_of_its_own_without_a_pool(users_pytest):
    code, out = users_pytest("-n", "2", tests=MEETING)
    assert code == 0 and "6 passed" in out, out


ORDER = """\
import pytest

@pytest.mark.ethosu(npu="ethos-u85-256")
def test_with_another_npu(board):
    assert board.eval("__import__('ethosu').npus()") == ["ethos-u85-256"]

def test_without_a_mark(board, board_npu):
    assert board.eval("__import__('ethosu').npus()") == [board_npu] == ["ethos-u55-128"]
"""


GOLDEN = """\
import numpy as np, pytest

@pytest.mark.parametrize("number", range(4))
def test_same(golden, number):
    golden("kept/same.npz", [np.arange(3)])

def test_other(golden):
    golden("kept/same.npz", [np.array([0, 1, 3])])
"""


def test_golden_files_are_made_by_the_option_and_then_compared(users_pytest):
    absent = users_pytest("-k", "same", tests=GOLDEN)[1]
    assert "4 failed" in absent and "pytest 'test_mine.py::test_same[0]' --ethosu-update" in absent
    code, out = users_pytest("-k", "same", "-n", "2", "--update-golden", tests=GOLDEN)
    assert code == 0 and "4 passed" in out, out
    out = users_pytest("-n", "2", tests=GOLDEN)[1]
    assert "1 failed, 4 passed" in out and "at [2]: expected 2, found 3" in out, out
    assert "golden.py" not in out, "only the user's frames"


BOTH = """\
import numpy as np
from pathlib import Path
from ethosu_tools import arrays, open_runner

def test_both(board):
    board.exec("kept = 6")
    model = Path({model!r})
    with open_runner(model, board) as runner:
        (shape,) = (tensor.shape for tensor in runner.inputs)
        feed = arrays.check({{"0": np.ones((40, *shape), "int8")}}, runner.inputs)
        found = list(runner.run(feed))
        assert board.eval("kept * 7") == 42, "both in one interpreter"
    with open_runner(model, "sim") as runner:
        assert np.array_equal(found, list(runner.run(feed)))
    assert board.eval("kept") == 6, "the board stays open"
"""


PREDICTING = """\
import numpy as np, pytest
from ethosu_tools import Model
from ethosu_tools.base.errors import BoardError, BoardTimeoutError, InputError

def test_predict(board):
    with Model({first!r}, on=board) as model, Model({second!r}, on=board) as other:
        inputs = [np.ones(tensor.shape, tensor.dtype) for tensor in model.inputs]
        given = [np.ones(tensor.shape, tensor.dtype) for tensor in other.inputs]
        found = [model.predict(inputs), other.predict(given), model.predict(inputs)]
        with pytest.raises(InputError, match="input 0 must have shape"):
            model.predict([np.zeros(3, "int8")])
        with pytest.raises(InputError, match="run\\(\\), data\\(\\) and cancel"):
            model.data(model.inputs[0])
        real = model.predict([np.zeros(model.inputs[0].shape)], real=True)
        other.reset()
        again = other.predict(given)
    for place in found[:1], found[2:]:
        with Model({first!r}) as model:
            np.testing.assert_array_equal(place[0], model.predict(inputs))
    with Model({first!r}) as model, Model({second!r}) as other:
        zeros = [np.zeros(model.inputs[0].shape)]
        np.testing.assert_array_equal(real, model.predict(zeros, real=True))
        np.testing.assert_array_equal(found[1], other.predict(given))
        np.testing.assert_array_equal(again, found[1])
    assert board.eval("1") == 1, "the board stays open"
"""


@pytest.fixture(scope="module")
def models(small_models, compiled):
    """Write tests that run models on the board."""
    first, second = (str(compiled(small_models[name])) for name in ("small_cnn", "small_streaming"))
    predicting = PREDICTING.format(first=first, second=second)
    return {"both": BOTH.format(model=first), "predicting": predicting}


# Elements of a report for test cases that did not pass.
KINDS = ("failure", "error", "skipped")


def run_together(folder, *options, **tests):
    """Run files together; returns the output, and the test cases by file and test."""
    run = UsersPytest(folder)
    _, out = run("--junitxml=r.xml", *options, tests=tests)
    run.close()
    return out, run.cases()


@pytest.fixture(scope="module")
def on_qemu(tmp_path_factory, models):
    """Run several files on an emulated board once; the tests below check the report."""
    killed, hung = TWO.format(fault=KILLED), TWO.format(fault=HUNG)
    tests = {"failing": FAILING, "hung": hung, "killed": killed, "order": ORDER, **models}
    return run_together(tmp_path_factory.mktemp("on_qemu"), **tests)


@pytest.fixture(scope="module")
def on_a_port(tmp_path_factory, models):
    """Run several files on a board at a port once."""
    with qemu.Machine(emulated(npu="ethos-u55-128")) as machine:
        folder, option = tmp_path_factory.mktemp("on_a_port"), f"--port={machine.port}"
        return run_together(folder, option, failing=FAILING, both=models["both"])


def failures(cases, file):
    """Return the report of each test of a file, by name; "" if it passed."""
    return {
        name: "".join(each.text for kind in KINDS for each in case.iter(kind))
        for (where, name), case in cases.items()
        if where == f"test_{file}"
    }


@pytest.mark.parametrize("place", ["on_qemu", "on_a_port"])
def test_a_failure_shows_the_boards_output(request, place):
    out, cases = request.getfixturevalue(place)
    found = failures(cases, "failing")
    assert found.pop("test_before") == found.pop("test_after") == ""
    assert all(text.strip().splitlines()[-1] in out for text in found.values()), "both have it"
    raised, faulted = found["test_raises"], found["test_faults"]
    assert "printed before" in raised and "of another test" not in raised + faulted
    assert 'File "<stdin>", line 3, in <module>\n    1 // (i - 1)\n' in raised
    assert "ZeroDivisionError" in raised
    assert "MemManage" in faulted and "0x90000000" in faulted and "ZeroDivision" not in faulted
    for name, kind in {"test_raises": "RemoteError", "test_faults": "BoardResetError"}.items():
        (failure,) = cases["test_failing", name].iter("failure")
        assert failure.get("message").startswith(f"ethosu_tools.base.errors.{kind}: ")
    case = cases["test_failing", "test_after"]
    properties = {each.get("name"): each.get("value") for each in case.iter("property")}
    assert properties["npu"].startswith("ethos-u55-") and "MPS3" in properties["machine"]


def board_failure(case):
    """Return the value of the property that tells a board's failure from the product's; or ""."""
    given = {each.get("name"): each.get("value") for each in case.iter("property")}
    return given.get("board_failure", "")


def test_the_report_tells_failures_of_boards_from_others(on_qemu):
    cases = on_qemu[1]
    found = {
        name: board_failure(cases[f"test_{file}", name])
        for file, name in (("failing", "test_raises"), ("failing", "test_faults"))
    }
    assert found == {"test_raises": "", "test_faults": "BoardResetError"}
    assert board_failure(cases["test_failing", "test_after"]) == ""
    for file in ("killed", "hung"):
        kinds = [board_failure(cases[f"test_{file}", f"test_{name}"]) for name in ("one", "two")]
        assert kinds[0] in ("BoardLinkError", "BoardTimeoutError") and kinds[1] == ""


@pytest.mark.parametrize("fault", ["killed", "hung"])
def test_emulated_board_that_dies_or_hangs_is_one_failure(on_qemu, fault):
    out, cases = on_qemu
    found = failures(cases, fault)
    assert found["test_two"] == ""
    assert "E       ethosu_tools.base.errors.Board" in found["test_one"]
    assert "errors.py" not in found["test_one"] and "port.py" not in found["test_one"]
    assert "excluded from the pool" not in out


def test_board_without_a_mark_has_its_own_npu_again(on_qemu):
    found = failures(on_qemu[1], "order")
    assert found == {"test_with_another_npu": "", "test_without_a_mark": ""}


def test_models_run_on_the_board_of_the_test(on_qemu):
    assert failures(on_qemu[1], "predicting") == {"test_predict": ""}


@pytest.mark.parametrize("place", ["on_qemu", "on_a_port"])
def test_board_and_runner_share_a_board(request, place):
    assert failures(request.getfixturevalue(place)[1], "both") == {"test_both": ""}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory):
    """Return the Python of an environment with pytest-embedded and these tools."""
    return sharing.python_with(tmp_path_factory.mktemp("embedded"), "pytest-embedded-serial==2.9.3")


@pytest.mark.slow
def test_it_works_next_to_pytest_embedded(users_pytest, machine, embedded):
    theirs = "def test_theirs(port):\n    assert port == '/dev/theirs'\n"
    options = ["--port", "/dev/theirs", f"--ethosu-port={machine.port}"]
    code, out = users_pytest(*options, tests=USERS_TESTS + theirs, python=embedded)
    assert code == 0 and "4 passed" in out, out


MANY = """\
import pytest

@pytest.mark.parametrize("number", range(200))
def test_each(board, number):
    assert board.ask(f"import ethosu\\n_answer = {number} * 7, len(ethosu.npus())") == (
        number * 7, 1
    )
"""


def number(name, default):
    return int(os.environ.get(f"STRESS_{name}", default))


@pytest.mark.slow
def test_sixteen_boards_run_two_hundred_tests_ten_times(users_pytest):
    """Boards are never shared or lost; STRESS_BOARDS, STRESS_TESTS, STRESS_ROUNDS set sizes."""
    boards, tests = number("BOARDS", 16), number("TESTS", 200)
    for _ in range(number("ROUNDS", 10)):
        code, out = users_pytest("-n", boards, tests=MANY.replace("200", str(tests)))
        assert code == 0 and f"{tests} passed" in out, out


@pytest.mark.slow
def test_boards_that_die_among_many_are_one_failure_each(users_pytest):
    boards, tests = number("BOARDS", 16), number("TESTS", 200)
    faults = f"    if number % 20 == 5: {KILLED}\n    if number % 40 == 19: {HUNG}\n"
    broken = [each for each in range(tests) if each % 20 == 5 or each % 40 == 19]
    many = MANY.replace("200", str(tests)).replace("    assert", f"{faults}    assert")
    code, out = users_pytest("-n", boards, tests=many)
    assert code == 1 and f"{len(broken)} failed, {tests - len(broken)} passed" in out, out
    assert all(f"test_each[{each}]" in out for each in broken)


def test_workers_take_a_port_each(users_pytest, machine):
    with qemu.Machine(emulated(npu="ethos-u55-64")) as second:
        options = [f"--port={machine.port}", f"--port={second.port}", "--junitxml=r.xml"]
        code, out = users_pytest("-n", "8", *options, tests=MANY.replace("200", "20"))
    assert code == 0 and "20 passed" in out, out
    report = ElementTree.parse(users_pytest.folder / "r.xml")
    used = {each.get("value") for each in report.iter("property") if each.get("name") == "board"}
    assert used == {machine.port, second.port}
