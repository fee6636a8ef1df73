# SPDX-License-Identifier: MIT
"""The driver's C tests cover it."""

import json
from pathlib import Path

import pytest

from host_tests.kit import sharing
from host_tests.modules.ethosu.driver import cbuild
from host_tests.modules.ethosu.driver.verify import stream_table

LINES_MIN = 97.0
BRANCHES_MIN = 90.0
DRIVER = "modules/ethosu/driver/"


def run_all(folder: Path) -> None:
    """Build and run every C test with gcov's counters."""
    sharing.make("tools/npu_sim", "shared")
    program = cbuild.test_program(folder, "coverage")
    for name in cbuild.names(*cbuild.TESTS):
        cbuild.run([program, name])
    sources = ["c/arm_names.c", "c/standalone_board.c"]
    cbuild.run([cbuild.link(folder / "arm_names", "coverage", sources, cbuild.DRIVER)])
    sources = ["verify/verdict.c", "c/standalone_board.c"]
    program = cbuild.link(folder / "verdict", "coverage", sources, cbuild.DRIVER)
    verifier = stream_table.Verifier(program)
    tests, blocks = stream_table.read_table()
    for test in tests.values():
        for config in test.configs:
            stream_table.Run(verifier, blocks, config).lines(test.lines)
    verifier.close()


def gcov(objects: Path) -> list[dict]:
    """Return gcov's report on the driver's files."""
    data = sorted(objects.rglob("*.gcda"))
    command = ["gcov", "--branch-probabilities", "--json-format", "--stdout", *data]
    lines = sharing.run(command, objects).splitlines()
    reports = [json.loads(line) for line in lines if line]
    return [file for report in reports for file in report["files"] if DRIVER in file["file"]]


@pytest.mark.slow
def test_lines_and_branches_are_covered(tmp_path, capsys) -> None:
    """C tests cover 97 % of the lines and 90 % of the branches; others are listed."""
    objects = cbuild.REPO / "build/sim_host/coverage"
    for old in objects.rglob("*.gcda"):
        old.unlink()
    run_all(tmp_path)
    lines = branches = lines_hit = branches_hit = 0
    left = []
    for file in gcov(objects):
        if not file["file"].endswith(".c"):
            continue
        for line in file["lines"]:
            lines += 1
            lines_hit += line["count"] > 0
            branches += len(line["branches"])
            branches_hit += sum(branch["count"] > 0 for branch in line["branches"])
            if line["count"] == 0:
                left.append(f"{Path(file['file']).name}:{line['line_number']}")
    line_share, branch_share = 100 * lines_hit / lines, 100 * branches_hit / branches
    with capsys.disabled():
        print(
            f"\ndriver: {line_share:.1f} % of lines, {branch_share:.1f} % of branches, not {left}"
        )
    assert line_share >= LINES_MIN
    assert branch_share >= BRANCHES_MIN
