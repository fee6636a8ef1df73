# SPDX-License-Identifier: MIT
"""Runs ExecuTorch's own Arm tests, unmodified, on our NPU, and compares the verdicts.

    EXECUTORCH_PYTHON=... python -m host_tests.conformance.executorch FOLDER [OPTION ...] [TEST ...]

FOLDER is outside of the tree and keeps the results; started again, it goes on. See README.md.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from ethosu_tools.base.errors import SetupError, ToolError
from ethosu_tools.base.other_python import environment, require

from . import stand_in, verdicts

ROOT = Path(__file__).resolve().parents[3]
AREAS = ("ops", "passes", "misc", "modules", "models")
_BOARDS = ("corstone-300", "corstone-300-u65", "corstone-320")
_SETTINGS = ("", "portable-ops_")
# Failed tests are verdicts, and a run that goes on may have none left.
_USUAL = (
    pytest.ExitCode.OK,
    pytest.ExitCode.TESTS_FAILED,
    pytest.ExitCode.NO_TESTS_COLLECTED,
)


def prepare(folder: Path) -> dict[str, str]:
    """The programs and files that the tests look for, and the variables that name them."""
    programs, root = folder / "bin", folder / "root"
    programs.mkdir(parents=True, exist_ok=True)
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "tools")))
    for name in stand_in.FVPS:
        command = shlex.join(
            [sys.executable, "-m", "host_tests.conformance.executorch.stand_in", name]
        )
        path = programs / name
        path.write_text(
            f'#!/bin/sh\nPYTHONPATH={shlex.quote(paths)} PYTHONSAFEPATH= exec {command} "$@"\n'
        )
        path.chmod(0o755)
    for board in _BOARDS:
        for setting in _SETTINGS:
            image = root / f"arm_test/arm_semihosting_executor_runner_{setting}{board}"
            image.mkdir(parents=True, exist_ok=True)
            (image / "arm_executor_runner").touch()
    for name in ("verdicts.jsonl", "runs.jsonl"):
        (folder / name).touch()
    return {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parent),
        "EXECUTORCH_ROOT": str(root),
        "ETHOSU_VERDICTS": str(folder / "verdicts.jsonl"),
        stand_in.LOG: str(folder / "runs.jsonl"),
    }


def run(python: str, folder: Path, per_function: int, untrained: bool, tests: list[str]) -> int:
    """Run the tests; returns pytest's exit code."""
    find = (
        "import importlib.util as u; print(*u.find_spec('executorch').submodule_search_locations)"
    )
    require(python, find, "ExecuTorch", "executorch", by="EXECUTORCH_PYTHON")
    at = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True)
    base = Path(at.stdout.split()[0]) / "backends/arm/test"
    chosen = [base / each for each in tests or AREAS]
    # Vela is in the folder of that Python.
    variables = prepare(folder) | {"ETHOSU_PER_FUNCTION": str(per_function)}
    if untrained:
        variables["ETHOSU_UNTRAINED"] = "yes"
    variables["PATH"] = f"{Path(python).parent}{os.pathsep}{variables['PATH']}"
    options = ["-p", "no:cacheprovider", "-p", "recorder", "--continue-on-collection-errors", "-q"]
    return subprocess.run(
        [python, "-m", "pytest", *options, "--tb=no", *map(str, chosen)],
        cwd=folder,
        env=os.environ | variables,
    ).returncode


def read(folder: Path) -> list[tuple[verdicts.Row, str, str]]:
    """The results so far."""
    rows, runs = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("verdicts.jsonl", "runs.jsonl")
    )
    return verdicts.judge(rows, runs)


def main() -> int:
    """Exit code 1 if a case disagrees or is refused."""
    parser = argparse.ArgumentParser(prog="host_tests.conformance executorch", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--per-function", type=int, default=1, metavar="N")
    parser.add_argument(
        "--untrained", action="store_true", help="torchvision's and timm's models, random weights"
    )
    parser.add_argument("--only-table", action="store_true", help="of the results so far")
    parser.add_argument("tests", nargs="*", help=f"default: {' '.join(AREAS)}")
    args = parser.parse_intermixed_args()
    folder = args.folder.resolve()
    if not args.only_table:
        python = os.environ.get("EXECUTORCH_PYTHON") or environment("executorch")
        if not python:
            raise SetupError("run `ethosu doctor --install executorch`, or set EXECUTORCH_PYTHON")
        code = run(python, folder, args.per_function, args.untrained, args.tests)
        if code not in _USUAL:
            raise SetupError(f"pytest ended with {code}; its messages are above")
    judged = read(folder)
    if not judged:
        raise SetupError(f"{folder} has no results, because no test ran")
    print(verdicts.table(judged))
    return any(found in (verdicts.REFUSED, verdicts.DISAGREED) for _, found, _ in judged)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ToolError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
