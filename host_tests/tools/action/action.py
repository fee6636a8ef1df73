# SPDX-License-Identifier: MIT
"""Runs the steps of action.yml, and of a workflow that uses it, as GitHub's runner does: bash, the
inputs, the runner's files.
"""

import json
import os
import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

REPO = Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((REPO / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"]}
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")
# What GitHub's documentation says that `shell: bash` is, and a step without a shell.
BASH = "bash", "--noprofile", "--norc", "-eo", "pipefail"
NO_SHELL = "bash", "-e"
# How a workflow names this action, without its version.
NAME = "OWNER/micropython-ethosu"
FILES = "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"


@dataclass
class Ended:
    """What a step left: its exit code, its log, the summary and the action's outputs."""

    code: int
    log: str
    summary: str = ""
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def report(self) -> dict[str, Any]:
        return json.loads(Path(self.outputs["report"]).read_text())


def values(text: str, known: dict[str, str]) -> str:
    """Replace each expression; one that is not known is an error."""
    return EXPRESSION.sub(lambda found: known[found[1]], text)


class Runner:
    """A job's folder and its files; `project` is where its steps run."""

    def __init__(self, place: Path, project: Path):
        self.temp, self.project = place, project
        self.files = {name: place / name for name in FILES}

    def step(self, name: str, inputs: dict[str, str], **environment: str) -> Ended:
        """Run one step of the action with these inputs, as written."""
        known = {key: str(row["default"]) for key, row in ACTION["inputs"].items()}
        assert inputs.keys() <= known.keys()
        known = {f"inputs.{key}": value for key, value in (known | inputs).items()}
        step = STEPS[name]
        assert step["shell"] == "bash"
        own = {key: values(value, known) for key, value in step["env"].items()}
        done = self._script(BASH, values(step["run"], known), own | environment)
        summary, written = (file.read_text() for file in self.files.values())
        known = {
            f"steps.{name}.outputs.{line.partition('=')[0]}": line.partition("=")[2]
            for line in written.splitlines()
        }
        outputs = {
            key: values(row["value"], known) for key, row in ACTION["outputs"].items() if known
        }
        return Ended(done.returncode, done.stdout, summary, outputs)

    def job(self, steps: list[dict[str, Any]], **environment: str) -> list[Ended]:
        """Run the steps of a workflow's job until one fails; this action's are two each.

        What `actions/checkout` gets is in the project's folder already.
        """
        done: list[Ended] = []
        for step in steps:
            uses = step.get("uses", "").partition("@")[0]
            if uses == NAME:
                for name in STEPS:
                    if not done or done[-1].code == 0:
                        done.append(self.step(name, step["with"], **environment))
            elif uses != "actions/checkout":
                ended = self._script(NO_SHELL, step["run"], environment)
                done.append(Ended(ended.returncode, ended.stdout))
            if done and done[-1].code:
                break
        return done

    def _script(
        self, shell: tuple[str, ...], text: str, own: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        for file in self.files.values():
            file.write_text("")
        script = self.temp / "script.sh"
        script.write_text(text)
        paths = {key: str(file) for key, file in self.files.items()}
        paths |= {"RUNNER_TEMP": str(self.temp), "GITHUB_ACTION_PATH": str(REPO)}
        return subprocess.run(
            [*shell, script],
            cwd=self.project,
            env=os.environ | paths | own,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
