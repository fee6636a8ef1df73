# SPDX-License-Identifier: MIT
"""Commands of all pages run as they stand, and print what the pages show."""

import contextlib
import re
import subprocess

import pytest

from host_tests.kit import found, needs, pages, sharing
from host_tests.kit.pages import Block
from host_tests.pages import commands, shell

QUICK = ("test", "hardware")
SLOW = (*QUICK, "nightly")
# Pages whose commands need what `ethosu doctor --install` installs.
INSTALLED = {
    "docs/tutorial.md": ("convert", "TENSORFLOW_PYTHON"),
    **{page: kit for each in found.modules("page_rows") for page, kit in each.INSTALLED.items()},
}
# Other tests run the blocks of these pages, with checks between.
ELSEWHERE = {"docs/upstream_port.md"}


def chosen(page, kinds):
    """Choose a page's commands of these kinds, and their files and output."""
    found, taken = [], False
    for block in pages.blocks(page):
        of_pc = block.language in ("sh", "python") and block.kind in ("test", "nightly")
        if of_pc or block.language == "sh":
            taken = block.kind in kinds
            # Slow commands make the files of a block for hardware.
            taken &= block.kind != "hardware" or page not in INSTALLED or kinds == SLOW
        on_board = kinds == SLOW and (block.language, block.kind) == ("python", "board")
        of_commands = of_pc or block.language == "sh" or block.kind in ("output", "like")
        if (of_commands and taken) or on_board or block.kind == "FILE":
            found.append(block)
    return found


def check(page, kinds, folder):
    blocks = chosen(page, kinds)
    builds = any(re.search(r"\bmake ", block.text) for block in blocks)
    with sharing.turn() if builds else contextlib.nullcontext():
        done = shell.run([block for block in blocks if block.language != "text"], folder)
    assert done.code == 0, f"{page}\n{done.log}"
    before = ""
    for block in blocks:
        if block.language == "sh":
            before = done.printed[block.line]
        elif block.language == "text":
            assert shell.differences(block, before) == [], f"{block.where}\n{before}"


@pytest.mark.parametrize("page", pages.with_blocks("sh", *pages.LANGUAGES["sh"]))
def test_commands_are_right(page, pytestconfig, tmp_path, monkeypatch):
    """Targets, options and files exist, also in commands that other tests do not run."""
    monkeypatch.chdir(tmp_path)
    seen = commands.Page(pytestconfig, tmp_path)
    problems = [seen.problems(block) for block in pages.blocks(page)]
    assert [problem for found in problems for problem in found] == []


def test_commands_are_read_by_a_shell():
    text = "\n".join(block.text for block in pages.every("sh", *pages.LANGUAGES["sh"]))
    done = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True)
    assert done.stderr == ""


@pytest.mark.parametrize("page", pages.with_blocks("sh", *QUICK))
def test_commands_run(page, tmp_path):
    check(page, QUICK, shell.place_of(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted({*pages.with_blocks("sh", "nightly")} - ELSEWHERE))
def test_commands_that_take_long_run(page, tmp_path):
    """Slow commands run after quick ones, whose files they may need, and boards' programs."""
    if page in INSTALLED:
        needs.python_with(*INSTALLED[page])
    check(page, SLOW, shell.place_of(tmp_path))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ethosu compile kws.tflite --bored X", "P.md:1: unknown arguments: --bored"),
        ("ethosu fly", "P.md:1: argument COMMAND: invalid choice: 'fly'"),
        ("cd x && ethosu run", "P.md:1: the following arguments are required: model"),
        ("x=$(ethosu qemu --timeout soon)", "P.md:1: argument --timeout: expected a number"),
        ("make wheels", "P.md:1: make has no target wheels"),
        ("make -C firmware wheel", "P.md:1: make has no target wheel"),
        ("pytest --bored", "P.md:1: pytest has no option --bored"),
        ("pytest host_tests/no", "P.md:1: there is no host_tests/no"),
        ('pytest -m "" host_tests/no', "P.md:1: there is no host_tests/no"),
        ("python -m ethosu_tools.no", "P.md:1: there is no module ethosu_tools.no"),
        ("ethosu inspect a.tflite", "P.md:1: nothing before makes a.tflite"),
        ("ethosu compile kws.tflite\nethosu run kw_vela.tflite", "makes kw_vela.tflite"),
        ("pip install build/wheel/a-*.whl", "P.md:1: nothing before makes build/wheel/a-*.whl"),
    ],
)
def test_a_wrong_command_is_named(text, problem, pytestconfig, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = Block("P.md", 1, "sh", "nightly", text)
    (found,) = commands.Page(pytestconfig, tmp_path).problems(block)
    assert problem in found


def shown(text, mark="output"):
    return Block("P.md", 1, "text", mark, text)


def test_output_that_differs_is_reported():
    printed = "\x1b[1ma  1\x1b[0m\nb 2\nc 3\n"
    assert shell.differences(shown("a 1\nc 3\n"), printed) == []
    assert shell.differences(shown("a 2\nc 3\n"), printed) == ["a 2"]
    assert shell.differences(shown("c 3\nb 2\n"), printed) == ["b 2"]
    assert shell.differences(shown("a ...\nb\n"), printed) == ["b"]
    assert shell.differences(shown("a 7\nb 1,234.5\n", "like"), printed) == []


@pytest.mark.parametrize(
    ("mark", "text", "log"),
    [
        ("test", "true\nfalse\ntrue\n", "failed: false"),
        ("test", "true | false | true\n", "failed: "),
        ("test", "no-such-command\n", "no-such-command: command not found"),
        ("hardware", "mpremote connect /dev/ttyACM0\ntrue\n", "failed to access /dev/no-such-port"),
        ("hardware", "mpremote mip install x", "failed to access /dev/no-such-port"),
        ("hardware", "true\n", "needs no hardware: true"),
        ("hardware", "ls --nonsense\n", "does not say in one sentence what is missing: ls"),
    ],
)
def test_a_command_that_fails_is_named(mark, text, log, tmp_path):
    done = shell.run([Block("P.md", 1, "sh", mark, text)], shell.place_of(tmp_path))
    assert log in done.log and (done.code == 0) == ("failed to access" in log)


def test_a_command_for_hardware_meets_no_board_that_is_plugged_in():
    """Commands for hardware get neither a real port nor a mounted disk of a board."""
    for line in ("ethosu flash NUMAKER_M55M1", "ethosu flash NUMAKER_M55M1 --rom x"):
        assert f"--disk {shell.ABSENT}" in shell._without_hardware(line)
    for line in ("mpremote ls", "mpremote connect /dev/ttyACM0 ls"):
        assert f"connect {shell.ABSENT}" in shell._without_hardware(line)
