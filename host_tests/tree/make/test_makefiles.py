# SPDX-License-Identifier: MIT
"""Rules for all makefiles."""

import os
import re
import subprocess

import pytest

from ..test_places import tracked

# Linker and objcopy take a second or more to fill their output, while tests and users may read an
# image or library.
_WRITES_SLOWLY = re.compile(r"-shared|\$\(LDFLAGS\).* -o|\$\(OBJCOPY\) -O")


def test_images_and_libraries_are_replaced_whole(repo):
    """A program that opens one while it is built again sees the old or the new file."""
    found = 0
    for name in tracked(repo, "*Makefile", "*.mk"):
        text = (repo / name).read_text().replace("\\\n", " ")
        lines = text.splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            # emcc writes several files; they are installed by another rule.
            if line.startswith("\t") and "emcc" not in line and _WRITES_SLOWLY.search(line):
                found += 1
                assert "$@.new" in line and "mv $@.new $@" in line + following, f"{name}: {line}"
    assert found >= 7


_VARIABLE = re.compile(r"^(\w+) *[:?+]?= *(.*)$", re.MULTILINE)
_RULE = re.compile(r"^([^\t#\n=]*?[^\t#\n=:])::?(?![=:]) *(.*)$", re.MULTILINE)
_LISTS_FILES = re.compile(r"\$\(wildcard .*\*|\$\(shell .*\bfind ")
# MicroPython's makefiles collect these variables from the modules' makefiles.
_COLLECTED = {"OBJ", "SRC_QSTR"}


def named(names: set[str], text: str) -> bool:
    return any(f"$({name})" in text or f"$({name}:" in text for name in names)


def listing(variables: list[tuple[str, str]]) -> set[str]:
    """Find variables with a wildcard, or with files made from one."""
    names = _COLLECTED
    while more := {
        name
        for name, text in variables
        if name not in names and (_LISTS_FILES.search(text) or named(names, text))
    }:
        names = names | more
    return names


def lone_wildcards(text: str, known: frozenset[str] = frozenset()) -> list[str]:
    """Find rules whose targets depend on a wildcard and on no list of its files.

    `known`: variables of lists that another makefile defines.
    """
    text = text.replace("\\\n", " ")
    variables = _VARIABLE.findall(text)
    lists = known | {name for name, value in variables if value.startswith("$(call listed,")}
    files = listing([row for row in variables if row[0] not in lists])
    phony = set(" ".join(re.findall(r"^\.PHONY:(.*)$", text, re.MULTILINE)).split())
    found = []
    for targets, needs in _RULE.findall(text):
        needs = needs.replace("$$", "$").partition("|")[0]
        whole = bool(_LISTS_FILES.search(needs)) or named(files, needs)
        listed = "$(call listed," in needs or named(lists, needs)
        if whole and not listed and not set(targets.split()) <= phony:
            found.append(f"{targets}: {needs}")
    return found


def test_no_rule_depends_on_a_wildcard_alone(repo):
    """A removed file makes nothing newer, so nothing is rebuilt: see modules/ethosu/listed.mk."""
    for name in tracked(repo, "*Makefile", "*.mk"):
        assert lone_wildcards((repo / name).read_text(), frozenset({"OBJ_LIST"})) == [], name


def test_a_lone_wildcard_is_found():
    lone = "OBJECTS := $(SRC:.c=.o)\nx.so: $(OBJECTS)\n\tcc\n"
    assert lone_wildcards("SRC := $(wildcard *.c)\n" + lone) == ["x.so: $(OBJECTS)"]
    assert lone_wildcards("SRC := a.c\n" + lone) == []
    assert lone_wildcards("x.c: $(wildcard a/*.toml) | y\n") == ["x.c: $(wildcard a/*.toml) "]
    assert lone_wildcards("x.c: $(wildcard a/*.toml) $(call listed,x,y)\n") == []
    assert lone_wildcards("x.elf: $$(OBJ) y.ld\n") == ["x.elf: $(OBJ) y.ld"]


# Replaces make: a sub-build takes a moment, and notes if the same one is under way for the first
# time; other goals of the tree run the real make, with this replacement in its place again.
_STAND_IN = """\
#!/bin/sh
case " $* " in
*" -C "*) ;;
*) exec make MAKE="$0" "$@" ;;
esac
cd "${0%/*}"
part=$(echo "$*" | tr -c 'A-Za-z0-9=\n' _)
[ ! -e "$part.made" ] || exit 0
mkdir "$part" || { echo "$*" >>twice; exit 0; }
sleep 0.2
touch "$part.made" started
rmdir "$part"
"""


def test_make_alone_builds_all(repo):
    """The goal of a makefile is not the rule that somebody wrote first."""
    goals = {}
    for name in tracked(repo, "*/Makefile"):
        command = ["make", "-pRrq", "-C", (repo / name).parent, "DEBIAN=no"]
        rules = subprocess.run(command, capture_output=True, text=True).stdout
        goals[name] = re.search(r"^\.DEFAULT_GOAL := (\S+)$", rules, re.MULTILINE)[1]
    others = {name for name, goal in goals.items() if goal != "all"}
    assert len(goals) > 8 and {name.parent.name for name in others} <= {"project"}, goals


def made_twice_at_once(makefile, folder, *goals: str) -> list[str]:
    """Return sub-builds that two recipes start at the same time when make -j builds the goals."""
    make = folder / "make.sh"
    make.write_text(_STAND_IN)
    make.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    # With -n, make runs the lines that start a make, and no others.
    command = ["make", "-n", "-j8", "-C", makefile.parent, "-f", makefile.name]
    command += ["V=1", "DEBIAN=no", f"MAKE={make}", *goals]
    subprocess.run(command, capture_output=True, check=True, env=kept)
    assert (folder / "started").exists()
    twice = folder / "twice"
    return twice.read_text().splitlines() if twice.exists() else []


@pytest.mark.parametrize(
    "goals", ["build plugin", "build sim-variants", "wheel", "test-ethosu_tools", "tutorial"]
)
def test_no_part_is_built_twice_at_once(repo, tmp_path, goals):
    """Otherwise two compilers would write the same files, or installers the same environment."""
    assert made_twice_at_once(repo / "Makefile", tmp_path, *goals.split()) == []


def test_a_part_that_is_built_twice_at_once_is_found(tmp_path):
    makefile = tmp_path / "Makefile"
    makefile.write_text("all: inner part\ninner:\n\t+$(MAKE) part\npart:\n\t+$(MAKE) -C x\n")
    assert made_twice_at_once(makefile, tmp_path, "all") == ["-C x"]
    (tmp_path / "twice").unlink()
    (tmp_path / "_C_x.made").unlink()
    makefile.write_text(makefile.read_text() + ".NOTPARALLEL:\n")
    assert made_twice_at_once(makefile, tmp_path, "all") == []


def test_the_night_builds_all_before_its_goals_run_at_once(repo):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "-n", "-C", repo, "nightly", "MAKE=: sub"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=kept)
    text = done.stdout.replace("\\\n", "")
    first, then = re.findall(r"^(?:.*&&\s+)?: sub (.*)$", text, re.MULTILINE)
    assert {"parts", "examples", "fuzzers"} <= set(first.split())
    assert {"sweeps", "tutorial", "fuzz"} <= set(then.split())
