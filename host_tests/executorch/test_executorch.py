# SPDX-License-Identifier: MIT
"""Tests the FVP's stand-in, the selection and the table, with fake tests of ExecuTorch."""

import json
import shlex
import sys

import numpy as np
import pytest
from ethosu_tools.base.errors import SetupError

from host_tests.kit import stand_ins
from host_tests.modules.ethosu.executorch import made, moves, test_values
from host_tests.modules.ethosu.executorch.program_writer import Program

from . import __main__ as command
from . import stand_in, verdicts

U55, U85 = "FVP_Corstone_SSE-300_Ethos-U55", "FVP_Corstone_SSE-320"


def words(folder, inputs, fvp=U55, portable=False):
    """Return the command line that ExecuTorch's runner_utils.py writes."""
    line = " ".join(["executor_runner -m program.pte -o out", *(f"-i {name}" for name in inputs)])
    prefix = "mps4_board.subsystem." if fvp == U85 else ""
    parameters = {
        f"{prefix}ethosu.num_macs": "128",
        "mps3_board.uart0.out_file": "'-'",
        f"{prefix}cpu0.semihosting-cwd": str(folder),
        f"{prefix}ethosu.extra_args": "'--fast'",
        f"{prefix}cpu0.semihosting-cmd_line": f"'{line}'",
    }
    settings = [word for pair in parameters.items() for word in ("-C", "=".join(pair))]
    image = f"runner_{'portable-ops_' if portable else ''}corstone/arm_executor_runner"
    return [*settings, "-a", image, "--timelimit", "120"]


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Run a program on the stand-in; returns exit code, printed text, and outputs."""
    monkeypatch.delenv(stand_in.LOG, raising=False)

    def run(program, arrays, **options):
        (tmp_path / "program.pte").write_bytes(program)
        for number, array in enumerate(arrays):
            np.asarray(array).tofile(tmp_path / f"i{number}.bin")
        names = [f"i{number}.bin" for number in range(len(arrays))]
        code = stand_in.main(options.get("fvp", U55), words(tmp_path, names, **options))
        return code, capsys.readouterr().out, sorted(tmp_path.glob("out-*.bin"))

    return run


@pytest.mark.parametrize(("fvp", "npu"), [(U55, "ethos-u55-128"), (U85, "ethos-u85-128")])
def test_a_command_line_is_understood(tmp_path, fvp, npu):
    found = stand_in.parse(fvp, words(tmp_path, ["i0.bin", "i1.bin"], fvp, True))
    assert (found.npu, found.portable, found.folder) == (npu, True, tmp_path)
    assert (found.model, found.output) == ("program.pte", "out")
    assert found.inputs == ["i0.bin", "i1.bin"]


def test_a_program_leaves_its_outputs(run, raw, small_models):
    case = made.real_case(
        small_models["small_cnn"],
        made.real_ends(small_models["small_cnn"], raw("u55")).encode(),
    )
    code, printed, outputs = run(case.program, case.inputs)
    assert (code, printed) == (0, "")
    np.testing.assert_array_equal(np.fromfile(outputs[0], np.float32), case.outputs[0].ravel())


def test_each_input_has_a_file_also_a_number(run):
    arrays = [1, test_values.X, True, 0.5, test_values.Y]
    program = test_values.with_numbers().encode()
    code, printed, _ = run(program, arrays)
    assert code == 1 and "the runner's limit: it was built without aten::cat" in printed


def test_a_number_is_not_read(run, monkeypatch):
    monkeypatch.setenv(stand_in.LIMITS, "no")
    arrays = [1, test_values.X, True, 0.5, test_values.Y]
    code, printed, outputs = run(test_values.with_numbers().encode(), arrays)
    assert (code, printed) == (0, "")
    found = np.fromfile(outputs[0], np.int8)
    np.testing.assert_array_equal(found, test_values.JOINED.ravel())


def test_scratch_is_limited_to_the_runners_pool(run, raw, small_models):
    blob = made.moved(raw("u55"), scratch_size=2 * 2**20 + 16)
    code, printed, _ = run(made.real_ends(small_models["small_cnn"], blob).encode(), [])
    assert code == 1 and "1 inputs" in printed
    code, printed, _ = run(made.real_ends(small_models["small_cnn"], blob).encode(), [0])
    assert code == 1 and "2,097,168 bytes of scratch, its pool has 2,097,152" in printed


@pytest.mark.parametrize(
    ("portable", "fvp", "fits"), [(False, U85, False), (True, U85, True), (True, U55, True)]
)
def test_a_runner_has_the_operators_it_was_built_with(run, portable, fvp, fits):
    x = np.arange(4, dtype=np.int64)
    program = test_values.conversion(test_values.CONVERTERS[0], x, "int32", (0,), (0,))
    code, printed, _ = run(program, [x], portable=portable, fvp=fvp)
    assert code == (not fits), printed


VALUES = np.linspace(-3, 3, 8, dtype=np.float32)
FILL = np.array([0xDFDFDFCF, 0xCFDFDFDF] * 4, "<u4").view(np.float32)


@pytest.mark.parametrize(
    ("initial", "limits", "state"),
    [(None, "yes", FILL), (None, "no", np.zeros(8, np.float32)), (VALUES, "yes", VALUES)],
)
def test_state_without_initial_values_is_what_was_in_memory(
    run, monkeypatch, initial, limits, state
):
    monkeypatch.setenv(stand_in.LIMITS, limits)
    code, printed, outputs = run(moves.delay(initial), [VALUES + 1], portable=True, fvp=U85)
    assert (code, printed) == (0, "")
    found = np.fromfile(outputs[0], np.int8)
    np.testing.assert_array_equal(found, made.quantize(state, moves.ZERO))


@pytest.mark.parametrize("line", [["--data", "x"], ["-C", "a=b", "-a"], ["-a", "image"]])
def test_what_it_does_not_know_is_an_error_of_the_fvp(line, capsys):
    assert stand_in.main(U55, line) == 1
    assert capsys.readouterr().out.startswith("E [ethosu] InputError: ")


def test_the_version_is_answered(capsys):
    assert stand_in.main(U55, ["--version"]) == 0 and U55 in capsys.readouterr().out


# ---- verdicts ----

RAN, REFUSED = {"refused": None}, {"refused": "InputError: instruction 7 (aten::cat): no"}


def row(outcome, *, wrong=(), error="", as_marked=False, case="t.py::test_x_u55_INT"):
    return {
        **{"case": case, "test": case, "outcome": outcome, "wrong": list(wrong)},
        **{"error": error, "as_marked": as_marked},
    }


@pytest.mark.parametrize(
    ("result", "runs", "expected"),
    [
        (row("passed"), [RAN], verdicts.AGREED),
        (row("passed"), [], verdicts.NO_DEVICE),
        (row("passed", wrong=["zero"]), [RAN], verdicts.LENIENT),
        (row("failed", wrong=["zero"], error="[XPASS(strict)] zero"), [RAN], verdicts.DISAGREED),
        (row("skipped", wrong=["zero"], as_marked=True), [RAN], verdicts.AGREED_WRONG),
        (row("skipped", wrong=["zero"], as_marked=True), [], verdicts.EARLY),
        (row("skipped", error="Skipped: no"), [], verdicts.SKIPPED),
        (row("failed", error="RuntimeError: E [ethosu]"), [REFUSED], verdicts.REFUSED),
        (row("failed", error="AssertionError: differs"), [RAN], verdicts.DISAGREED),
        (row("failed", error="AssertionError: differs"), [REFUSED, RAN], verdicts.DISAGREED),
        (row("failed", error="no operator"), [], verdicts.DISAGREED),
    ],
)
def test_a_verdict_follows_from_marks_and_runs(result, runs, expected):
    assert verdicts.verdict(result, runs)[0] == expected


def test_the_table_counts_each_generation_and_names_causes():
    rows = [row("passed"), row("failed", case="t.py::test_y_u85_INT[a]")]
    runs = [{"test": each["test"], **run} for each, run in zip(rows, (RAN, REFUSED), strict=True)]
    text = verdicts.table(verdicts.judge(rows, runs))
    assert "| agreed: passes | 1 | 0 | 0 |" in text and "| refused | 0 | 0 | 1 |" in text
    assert "- 1 x InputError: an instruction (aten::cat): no" in text


def test_the_last_attempt_at_a_test_counts():
    """The last attempt counts when pytest repeats a test with the mark `flaky`."""
    rows = [row("failed", error="AssertionError: differs"), row("passed")]
    [(_, found, _)] = verdicts.judge(rows, [{"test": rows[0]["test"], **RAN}])
    assert found == verdicts.AGREED


# ---- the whole way ----

THEIRS = """
import os, pathlib, subprocess, pytest
ROOT = pathlib.Path(os.environ["EXECUTORCH_ROOT"])
IMAGE = ROOT / "arm_test/arm_semihosting_executor_runner_corstone-300/arm_executor_runner"
assert IMAGE.exists()

def start(*words):
    subprocess.run([{fvp!r}, *words], check=True)

@pytest.mark.parametrize("number", range(3))
def test_one_u55_INT(number):
    start(*{words!r})

@pytest.mark.xfail(reason="known", strict=False)
@pytest.mark.parametrize("number", range(2))
def test_marked_u55_INT(number):
    start("--unknown")

def test_of_no_npu():
    assert False
"""


def test_tests_run_unmodified_and_go_on_where_they_stopped(tmp_path, capfd, monkeypatch):
    x = np.zeros(4, np.float32)
    program = Program()
    method = program.forward
    method.inputs, method.outputs = ([method.tensor(t, x.shape)] for t in ("float32", "int8"))
    made.add_quantize(method, *method.inputs, made.End((4,), 0.5, 0), *method.outputs)
    (tmp_path / "program.pte").write_bytes(program.encode())
    x.tofile(tmp_path / "i0.bin")
    theirs = tmp_path / "theirs/executorch/backends/arm/test/ops"
    theirs.mkdir(parents=True)
    text = THEIRS.format(fvp=U55, words=words(tmp_path, ["i0.bin"]))
    (theirs / "test_x.py").write_text(text)
    python = stand_ins.program(
        tmp_path / "python",
        "import os, sys\n"
        f"paths = [{str(tmp_path / 'theirs')!r}, os.environ.get('PYTHONPATH', '')]\n"
        "os.environ['PYTHONPATH'] = os.pathsep.join(paths)\n"
        f"os.execv({sys.executable!r}, [{sys.executable!r}, *sys.argv[1:]])\n",
    )
    monkeypatch.setenv("EXECUTORCH_PYTHON", str(python))
    folder = tmp_path / "results"
    for per_function, passed in ((1, 1), (2, 2)):
        line = f"main {folder} --per-function {per_function} ops"
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        assert command.main() == 0
        printed = capfd.readouterr().out
        assert f"| {verdicts.AGREED} | {passed} | 0 | 0 |" in printed
        assert f"| {verdicts.AGREED_WRONG} | 2 | 0 | 0 |" in printed
    recorded = (folder / "verdicts.jsonl").read_text().splitlines()
    names = [json.loads(line)["case"].rpartition("::")[2] for line in recorded]
    assert len(set(names)) == len(names) == 4 and names[:2] == [
        "test_marked_u55_INT[0]",
        "test_marked_u55_INT[1]",
    ]


@pytest.mark.parametrize("executable", ["true", "false", "none"])
def test_no_verdict_is_an_error(tmp_path, monkeypatch, executable):
    """A Python that is missing, or lacks ExecuTorch or its tests, is an error."""
    python = {"none": tmp_path / "none", "false": sys.executable, "true": tmp_path / "python"}
    stand_ins.program(tmp_path / "python", f"import sys; print({str(tmp_path)!r}); sys.exit(0)\n")
    monkeypatch.setenv("EXECUTORCH_PYTHON", str(python[executable]))
    monkeypatch.setattr(sys, "argv", ["main", str(tmp_path / "results")])
    with pytest.raises(
        SetupError,
        match={"true": "no test ran", "false": "cannot load ExecuTorch", "none": "cannot be run"}[
            executable
        ],
    ):
        command.main()
