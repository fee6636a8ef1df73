# SPDX-License-Identifier: MIT
"""The action runs firmware, tests and checks as docs/ci.md says, and its summary is right."""

import html
import os
import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from ethosu_tools.base import paths
from ethosu_tools.model import make_model

from host_tests.kit import pages, stand_ins
from host_tests.kit.newlib import newlib_program
from host_tests.tools.action.action import ACTION, EXPRESSION, NAME, REPO, STEPS, Runner
from host_tests.tools.qemu_plugin import test_corstone_320
from host_tests.tools.setup.release.test_wheel import environment, program, wheel  # noqa: F401

PAGE = "docs/ci.md"
SAMPLE = Path(__file__).parent / "project"
WORKFLOW = SAMPLE / ".github/workflows/ci.yml"
JOB = yaml.safe_load(WORKFLOW.read_text())["jobs"]["npu"]["steps"]
USES = [step for step in JOB if step.get("uses", "").startswith(NAME)]
BROKEN = """\
def test_that_fails(board):
    assert board.eval("6 * 7") == 43, "a | b\\n::error::not a command"
"""


@pytest.fixture
def project(tmp_path) -> Path:
    """Someone's project, with firmware that does what a test tells it."""
    folder = tmp_path / "project"
    shutil.copytree(SAMPLE, folder)
    (folder / "build").mkdir()
    shutil.copy(newlib_program.build(), folder / "build/hello.elf")
    (folder / "broken.py").write_text(BROKEN)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


@pytest.fixture
def sample(tmp_path) -> Runner:
    """The project as it is: what GitHub's runner has after the checkout."""
    folder = tmp_path / "sample"
    shutil.copytree(SAMPLE, folder)
    (folder / "pytest.ini").write_text("[pytest]\n")  # else it is this tree's
    return Runner(tmp_path, folder)


def installed(place: Path) -> None:
    """Make an environment of an earlier run, which has the tools already: those of this tree."""
    (place / "ethosu/bin").mkdir(parents=True)
    stand_ins.program(
        place / "ethosu/bin/python", f'exec {sys.executable} "$@"\n', interpreter="/bin/sh"
    )


@pytest.fixture
def job(tmp_path, project) -> Runner:
    """Return a runner whose environment has the tools already."""
    installed(tmp_path)
    return Runner(tmp_path, project)


def run_sample(sample: Runner, steps=JOB):
    """Run the workflow without a network: the Debian packages that it installs are there."""
    (sample.temp / "bin").mkdir()
    stand_ins.program(sample.temp / "bin/sudo", 'echo "as root: $*"\n', interpreter="/bin/sh")
    path = f"{sample.temp / 'bin'}:{os.environ['PATH']}"
    return sample.job(steps, PATH=path, PIP_NO_INDEX="1")


def rows(summary: str) -> list[list[str]]:
    """Return the cells of a summary's tables, as a reader sees them, without their heads."""
    lines = re.sub(r"\|[^\n]*\n\|( --- \|)+\n", "", summary).splitlines()
    cells = (line[2:-2].split(" | ") for line in lines if line.startswith("|"))
    return [list(map(html.unescape, row)) for row in cells]


def test_the_sample_project_passes_step_by_step(sample):
    installed(sample.temp)
    packages, build, *uses = run_sample(sample)
    assert "as root: apt-get install" in packages.log and "-o build/hello.elf" in build.log
    assert [each.code for each in uses] == [0] * 2 * len(USES), uses[-1].log
    hello, model, tests = (rows(each.summary) for each in uses[1::2])
    words = "hello, NPU: product 0 with 128 MACs"
    assert hello == [["build/hello.elf", "MPS3_AN547", "ethos-u55-128", words, "passed"]]
    assert model[0][0] == "models/classifier.tflite" and model[0][-1] == "passed"
    assert model[1][:3] == ["MPS3_AN547", "ethos-u55-128", "runs"]
    assert tests == [["test_npu.py", "3", "0", "0", "", "passed"]]
    assert all(each.outputs["exit-code"] == "0" for each in uses[1::2])


@pytest.mark.parametrize(
    ("file", "was", "now", "steps", "code"),
    [
        ("hello.c", "product == 0", "product == 2", 4, 1),
        ("hello.c", "printf", "print", 2, 2),
        ("test_npu.py", "== 2 * value", "== 3 * value", 8, 1),
        ("models/classifier.tflite", "", "", 6, 3),
    ],
)
def test_what_breaks_in_the_sample_project_ends_its_job(sample, file, was, now, steps, code):
    installed(sample.temp)
    path = sample.project / file
    path.write_text(path.read_text().replace(was, now) if was else "no model")
    done = run_sample(sample)
    assert (len(done), done[-1].code) == (steps, code), done[-1].log
    assert steps == 2 or "**failed**" in done[-1].summary


def test_the_page_shows_the_files_of_the_sample_project():
    (shown,) = (block.text for block in pages.every("yaml", "test"))
    for text, path in (
        (shown, WORKFLOW),
        (pages.file(PAGE, "test_npu.py"), SAMPLE / "test_npu.py"),
    ):
        assert f"# SPDX-License-Identifier: MIT\n{text}" == path.read_text()
    assert (SAMPLE / "models/classifier.tflite").read_bytes() == make_model.small_cnn()


def test_firmware_that_fails_has_its_exit_code_and_its_last_line(job):
    words = "--argument='silent uart:0,::error::|x|<b>& exit:7'"
    done = job.step("run", {"run": "build/hello.elf\nbuild/none.elf\n", "arguments": words})
    (failed, absent), report = rows(done.summary), done.report["run"]
    assert done.code == 7 and done.outputs["exit-code"] == "7"
    assert failed[1:3] == ["MPS3_AN547", "ethos-u55-128"] and failed[-1].endswith("exit code 7")
    assert failed[3] == "::error::|x|<b>&" and "<b>" not in done.summary
    assert "cannot be read" in absent[-2] and absent[-1].endswith("exit code 3")
    assert [each["exit_code"] for each in report] == [7, 3]
    assert "::error::|x|" in report[0]["output"]


def test_output_gives_no_commands_to_the_runner(job):
    words = {"run": "build/hello.elf", "arguments": "--argument='silent uart:0,::error::x exit:1'"}
    log = job.step("run", words).log
    (token,) = re.findall(r"^::stop-commands::(\w+)$", log, re.MULTILINE)
    stopped = log.partition(f"::stop-commands::{token}")[2].partition(f"::{token}::")[0]
    assert "\n::error::x" in stopped and len(re.findall(r"^::error::", log, re.MULTILINE)) == 2


def test_firmware_that_faults_fails(job):
    words = {"run": "build/hello.elf", "arguments": "--argument='touch:01800000'"}
    done = job.step("run", words)
    assert done.code == newlib_program.FAULT and "unmapped" in rows(done.summary)[0][-2]


def test_a_text_ends_firmware_or_its_absence_is_the_error(job):
    words = {"run": "build/hello.elf", "arguments": "--argument='silent uart:0,passed spin'"}
    assert job.step("run", words | {"until": "passed"}).code == 0
    done = job.step("run", words | {"until": "never", "arguments": "--argument=silent"})
    assert done.code == 5
    assert "ended without 'never'" in rows(done.summary)[0][-2]


def test_firmware_of_this_project_does_not_wait_for_a_user(job):
    done = job.step("run", {"run": str(paths.firmware("MPS3_AN547"))})
    assert done.code == 2 and "only for third-party firmware" in rows(done.summary)[0][-2]


def test_corstone_320_runs_firmware(job):
    shutil.copy(test_corstone_320.program("corstone_320.elf"), job.project / "build/hello.elf")
    words = {"run": "build/hello.elf", "board": "CORSTONE_320", "until": "ready"}
    done = job.step("run", words)
    assert (done.code, rows(done.summary)[0][1]) == (0, "CORSTONE_320"), done.log


def test_a_model_that_fits_and_one_that_does_not(job):
    done = job.step("run", {"check": "models/*.tflite", "board": "MPS3_AN547"})
    model, board = rows(done.summary)
    assert done.code == 0 and model[0] == "models/classifier.tflite"
    assert board[:3] == ["MPS3_AN547", "ethos-u55-128", "runs"] and board[3].endswith(" ms")
    need = done.report["check"][0]["boards"][0]["need"]
    assert board[4:] == [f"{need['heap']:,}", f"{need['file']:,}"]
    words = {"check": "models/*.tflite", "board": "MPS3_AN547", "arguments": "--reserve 100M"}
    done = job.step("run", words)
    assert done.code == 3 and "exit code 3" in rows(done.summary)[0][-1]


def test_failed_tests_are_in_the_summary(job):
    done = job.step("run", {"pytest": "test_npu.py\nbroken.py", "arguments": "-p no:cacheprovider"})
    every, failed = rows(done.summary)
    assert done.code == 1 and every[1:4] == ["3", "1", "0"]
    assert failed[0].endswith("test_that_fails") and "a | b" in failed[1]
    assert done.report["pytest"][0]["failures"] == 1
    ended = done.log.rpartition("passed in ")[2]
    assert re.search(r"^::\w{32}::\n::error::", ended, re.MULTILINE), (
        "pytest's output is one of others"
    )
    done = job.step("run", {"pytest": "none.py"})
    assert done.code == 4 and "**failed**, exit code 4" in done.summary


def test_without_work_it_says_which_inputs_there_are(job):
    done = job.step("run", {})
    assert done.code == 2 and '"run", "check" and "pytest"' in done.log


def test_inputs_are_no_part_of_a_script():
    """A script with an expression in it would run what an input says."""
    assert [step["run"] for step in STEPS.values() if EXPRESSION.search(step["run"])] == []


def test_the_page_lists_all_inputs_and_outputs_and_uses_this_version():
    listed = re.findall(r"^\| `([\w-]+)` \|", (REPO / PAGE).read_text(), re.MULTILINE)
    assert listed == [*ACTION["inputs"], *ACTION["outputs"]]
    version = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["version"]
    assert {step["uses"] for step in USES} == {f"{NAME}@v{version}"}


@pytest.mark.parametrize(
    ("inputs", "installed"),
    [
        ({"run": "x"}, "ethosu-tools==OWN"),
        ({"check": "x", "version": "0.1.0"}, "ethosu-tools[oracle]==0.1.0"),
        ({"pytest": "x", "wheel": "dist/*.whl"}, "PROJECT/dist/a b.whl pytest"),
        ({"check": "x", "wheel": "https://h/w.whl"}, "ethosu-tools[oracle] @ https://h/w.whl"),
    ],
)
def test_what_is_installed(job, inputs, installed):
    stand_ins.program(job.temp / "ethosu/bin/python", 'echo "$@"\n', interpreter="/bin/sh")
    (job.project / "dist").mkdir()
    (job.project / "dist/a b.whl").touch()
    version = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["version"]
    installed = installed.replace("OWN", version).replace("PROJECT", str(job.project))
    done = job.step("install", inputs)
    assert done.code == 0 and done.log.strip().endswith(f"install --quiet {installed}"), done.log


def test_a_wheel_that_is_not_there_is_named(job):
    done = job.step("install", {"run": "x", "wheel": "dist/*.whl"})
    assert done.code == 2 and '"wheel" is dist/*.whl: no such file' in done.log


@pytest.mark.slow
def test_the_sample_project_passes_with_the_wheel(sample, wheel):  # noqa: F811
    """In a new environment; the packages that the wheel needs are there, as pip has no network."""
    environment(sample.temp / "ethosu")
    steps = [
        step | {"with": step["with"] | {"wheel": str(wheel)}} if step in USES else step
        for step in JOB
    ]
    done = run_sample(sample, steps)
    assert [each.code for each in done] == [0] * (2 + 2 * len(USES)), done[-1].log
